#include "kernel/interpret/evaluate_intrinsic.h"

#include "program/interpret/instruction.h"
#include "scalar/table.h"
#include "support/check.h"

namespace kawara::kernel {
namespace {

using program::Operand;
using scalar::Value;

/// Row-major position of the element that an operand has at a point of the axes.
size_t lane_of(const Operand& operand, const std::vector<int64_t>& point) {
  int64_t at = 0;
  for (size_t d = 0; d < operand.shape.size(); ++d)
    at = at * operand.shape[d] + (operand.axes[d] ? point[*operand.axes[d]] : 0);
  return static_cast<size_t>(at);
}

/// The next point in the order of the loops; false after the last.
bool next_point(std::vector<int64_t>& point, const std::vector<int64_t>& extents) {
  for (size_t d = point.size(); d-- > 0;) {
    if (++point[d] < extents[d])
      return true;
    point[d] = 0;
  }
  return false;
}

} // namespace

std::vector<Value> evaluate_intrinsic(const std::string& name, std::vector<std::vector<Value>> args,
                                      const scalar::Algebra& algebra) {
  if (const auto column = scalar::column_from_name(name)) {
    for (Value& v : args.back())
      v = scalar::int_value(scalar::element_in(*column, v.i));
    return std::move(args.back());
  }
  const target::Intrinsic* data = target::find_intrinsic(name);
  KAWARA_CHECK(data != nullptr, "no instruction " + name);
  program::Instruction instruction = program::instruction_of(*data);
  if (const auto axis = program::axis_of_rows(instruction)) {
    const int64_t row = instruction.result().lanes() / instruction.extents[*axis];
    instruction =
        program::with_rows(std::move(instruction), static_cast<int64_t>(args.back().size()) / row);
  }
  KAWARA_CHECK(args.size() == instruction.operands.size(), "arguments of " + name);
  std::vector<Value>& result = args.back();
  const scalar::Elem stored = instruction.result().elem;
  const scalar::Elem computed = scalar::compute_type(stored);
  std::vector<int64_t> point(instruction.extents.size(), 0);
  scalar::Leaves leaves;
  leaves.iter = [&](uint32_t axis) { return std::optional(scalar::int_value(point[axis])); };
  leaves.load = [&](const scalar::Load& load, const std::vector<int64_t>&, scalar::Elem) {
    return std::optional(args[load.tensor][lane_of(instruction.operands[load.tensor], point)]);
  };
  do {
    Value& element = result[lane_of(instruction.result(), point)];
    const auto value = scalar::evaluate(instruction.value, leaves, algebra);
    KAWARA_CHECK(value, "value of " + name);
    const Value sum = algebra.reduce(instruction.op, computed,
                                     algebra.convert(stored, computed, element), *value);
    element = algebra.convert(computed, stored, sum);
  } while (next_point(point, instruction.extents));
  return std::move(result);
}

} // namespace kawara::kernel
