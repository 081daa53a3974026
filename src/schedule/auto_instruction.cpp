#include "schedule/auto_instruction.h"

#include "program/instruction.h"
#include "target/intrinsic.h"

#include <algorithm>

namespace kawara::schedule {

using program::Instruction;
using program::Operand;
using scalar::Elem;
using scalar::Expr;

namespace {

/// Loads of narrow cells as loads of that type, as after `pack(..., type=...)`.
Expr with_operands_as(const Expr& value, Elem type) {
  return scalar::rewrite(value, [&](const Expr& e) {
    const auto* cast = scalar::as<scalar::Cast>(e);
    const auto* load = cast != nullptr ? scalar::as<scalar::Load>(cast->arg) : nullptr;
    if (load == nullptr || !scalar::holds_all_of(type, cast->arg.type().elem))
      return Expr();
    return scalar::cast(scalar::load(load->tensor, load->index, {type, 1}), e.type());
  });
}

/// Results in lanes that move `b`, perhaps in rows that move `a`, and a depth that moves both.
struct AxisShape {
  int64_t lanes = 1, rows = 1, depth = 1;
  int64_t work() const { return lanes * rows * depth; }
};

std::optional<AxisShape> shape_of(const Instruction& instruction) {
  AxisShape shape;
  const Operand& a = instruction.operands[0];
  const Operand& b = instruction.operands[1];
  for (uint32_t axis = 0; axis < instruction.axes.size(); ++axis) {
    const bool is_depth = !instruction.result().follows(axis);
    if (is_depth ? !(a.follows(axis) && b.follows(axis)) : a.follows(axis) == b.follows(axis))
      return std::nullopt;
    (is_depth          ? shape.depth
     : a.follows(axis) ? shape.rows
                       : shape.lanes) *= instruction.extents[axis];
  }
  return shape.lanes > 1 ? std::optional(shape) : std::nullopt;
}

bool is_left_times_right(const Product& p, const program::OperandLoads& loads) {
  return scalar::as<scalar::Load>(loads[0])->tensor == p.left &&
         scalar::as<scalar::Load>(loads[1])->tensor == p.right;
}

/// Types in which operands may be packed: their own, and wider ones of the same kind.
std::vector<std::optional<Elem>> types_for(Elem left, Elem right) {
  std::vector<std::optional<Elem>> types{std::nullopt};
  if (scalar::is_integer(left) && scalar::holds_all_of(Elem::I16, left) &&
      scalar::holds_all_of(Elem::I16, right))
    types.emplace_back(Elem::I16);
  return types;
}

} // namespace

std::optional<ProductInstruction> instruction_for(const Schedule& schedule, const Product& p,
                                                  const Environment& environment) {
  const poly::Scop& scop = schedule.scop;
  const program::Statement& text = scop[p.update()].text;
  const Elem left = scop.tensors[p.left].elem, right = scop.tensors[p.right].elem;
  const Elem result = scop.tensors[p.result].elem;
  const int64_t plain =
      target::vector_lanes(environment.cpu, scalar::bytes_of(scalar::compute_type(result)));
  std::optional<ProductInstruction> best;
  // Integers without an instruction take two conversions and a multiplication: a tie is worth it.
  double most = static_cast<double>(plain) * (scalar::is_integer(result) ? 0.99 : 1.01);
  for (const target::Intrinsic& data : target::intrinsics()) {
    // Tiles want groups of the reduction around the columns, and operands copied so: nothing here plans that.
    if (data.is_tile || !target::is_available(data, environment.cpu) ||
        static_cast<int>(scop.numerics) < static_cast<int>(data.strictness))
      continue;
    const Instruction& instruction = program::instruction_of(data);
    const auto shape = shape_of(instruction);
    if (!shape || instruction.op != text.op || instruction.result().elem != result)
      continue;
    const double work = static_cast<double>(shape->work()) / data.cost;
    for (const auto& type : types_for(left, right)) {
      const auto ways = program::matching_loads(
          instruction, type ? with_operands_as(text.value, *type) : text.value);
      if (work > most && std::any_of(ways.begin(), ways.end(), [&](const auto& loads) {
            return is_left_times_right(p, loads);
          })) {
        most = work;
        best = ProductInstruction{std::string(data.name),
                                  shape->lanes,
                                  shape->rows,
                                  shape->depth,
                                  type,
                                  scalar::bytes_of(type.value_or(right)),
                                  work / static_cast<double>(plain)};
      }
    }
  }
  return best;
}

bool gains_from_f16_sums(const Schedule& schedule, const Product& p,
                         const Environment& environment) {
  const auto& tensors = schedule.scop.tensors;
  const bool has_types = tensors[p.left].elem == Elem::F16 && tensors[p.right].elem == Elem::F16 &&
                         tensors[p.result].elem == Elem::F32;
  return has_types && schedule.scop.numerics == program::Numerics::Fast &&
         schedule.scop[p.update()].text.op == scalar::ReduceOp::Sum && p.depth.size() == 1 &&
         p.outer.empty() && environment.cpu.features.has(target::Feature::Fp16);
}

} // namespace kawara::schedule
