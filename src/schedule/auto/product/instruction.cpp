#include "schedule/auto/product/instruction.h"

#include "program/interpret/instruction.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/tree/extent.h"
#include "target/intrinsic.h"

#include <algorithm>

namespace kawara::schedule {

using program::Instruction;
using program::Operand;
using scalar::Elem;
using scalar::Expr;

namespace {

/// Loads of narrow elements as loads of that type, as after `pack(..., type=...)`.
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
  int64_t group = 1; ///< of the depth, what is innermost
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
    if (is_depth)
      shape.group = instruction.extents[axis];
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

/// Where one element goes into all lanes: as many times as a load does that with.
int64_t copies_of(const AxisShape& shape, int64_t bytes, const target::Cpu& cpu) {
  const bool is_one_element = shape.rows * shape.depth == 1;
  return is_one_element ? std::max<int64_t>(1, target::least_broadcast(cpu) / bytes) : 1;
}

/// Storing a row of a tile, reading it again and adding it to the result, in vector multiply-adds.
constexpr double kTileRow = 4.0;

int64_t whole(int64_t extent, int64_t block) { return (extent + block - 1) / block * block; }

/// Multiply-adds of one program iteration each that an instruction does in the time of a vector
/// multiply-add. Tiles are large: what of them lies beyond the edges of the product counts for
/// nothing, and bringing them back to the result is work.
double work_of(const target::Intrinsic& data, const AxisShape& shape, const Product& p) {
  if (!data.is_tile)
    return static_cast<double>(shape.work()) / data.cost;
  const int64_t rows = p.extents[p.rows], columns = p.extents[p.lanes];
  const int64_t deepest = p.extents[deepest_of(p)];
  const auto depth = static_cast<double>(product_over(p.extents, p.depth) / deepest);
  const auto tiles = static_cast<double>(whole(rows, shape.rows) / shape.rows *
                                         (whole(columns, shape.lanes) / shape.lanes));
  const double steps = depth * static_cast<double>(whole(deepest, shape.depth) / shape.depth);
  return static_cast<double>(rows) * static_cast<double>(columns * deepest) * depth /
         (tiles * (steps * data.cost + kTileRow * static_cast<double>(shape.rows)));
}

/// Types in which operands may be packed: their own, and wider ones of the same kind.
std::vector<std::optional<Elem>> types_for(Elem left, Elem right) {
  std::vector<std::optional<Elem>> types{std::nullopt};
  if (scalar::is_integer(left) && scalar::holds_all_of(Elem::I16, left) &&
      scalar::holds_all_of(Elem::I16, right))
    types.emplace_back(Elem::I16);
  return types;
}

/// Whether the left operand's elements lie as the instruction takes them: whole groups of the
/// reduction side by side.
bool takes_left_in_place(const Schedule& schedule, const target::Intrinsic& data,
                         const AxisShape& shape, const Product& p) {
  if (data.is_tile)
    return p.tile_rows && p.groups && p.extents[*p.groups] % shape.depth == 0;
  if (shape.rows != 1 || shape.depth == 1)
    return shape.rows == 1;
  return p.groups && shape.depth == shape.group && p.extents[*p.groups] % shape.depth == 0 &&
         known_run(schedule.scop, schedule.order, p.nest.loops[*p.groups]).has_value();
}

/// How an instruction gets the left operand: from a copy in its order and type, unpacked, or from
/// where it would lie.
enum class LeftElements : uint8_t { Copied, InPlace, LaidOut };

std::optional<ProductInstruction> best_instruction(const Schedule& schedule, const Product& p,
                                                   const Environment& environment,
                                                   LeftElements elements) {
  const bool is_in_place = elements != LeftElements::Copied;
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
    if (!target::is_available(data, environment.cpu) || (data.is_tile && p.avoids_tiles) ||
        static_cast<int>(scop.numerics) < static_cast<int>(data.strictness))
      continue;
    const Instruction& instruction = program::instruction_of(data);
    auto shape = shape_of(instruction);
    if (shape && data.is_tile && is_in_place)
      shape->rows = p.tile_rows.value_or(shape->rows);
    if (!shape || instruction.op != text.op || instruction.result().elem != result ||
        (is_in_place && !takes_left_in_place(schedule, data, *shape, p)))
      continue;
    const double work = work_of(data, *shape, p);
    for (const auto& type : types_for(left, right)) {
      if (type && elements == LeftElements::InPlace && left != *type)
        continue;
      const auto ways = program::matching_loads(
          instruction, type ? with_operands_as(text.value, *type) : text.value);
      if (work > most && std::any_of(ways.begin(), ways.end(), [&](const auto& loads) {
            return is_left_times_right(p, loads);
          })) {
        most = work;
        best = ProductInstruction{
            std::string(data.name),
            shape->lanes,
            shape->rows,
            shape->depth,
            shape->group,
            type,
            scalar::bytes_of(type.value_or(right)),
            work / static_cast<double>(plain),
            copies_of(*shape, scalar::bytes_of(type.value_or(left)), environment.cpu),
            false,
            data.is_tile};
        if (is_in_place)
          best->copies = 1;
        best->copies_rows = best->copies > 1 && p.has_far_rows && p.has_runs && p.depth.size() == 1;
      }
    }
  }
  return best;
}

} // namespace

std::optional<ProductInstruction> instruction_for(const Schedule& schedule, const Product& p,
                                                  const Environment& environment) {
  return best_instruction(schedule, p, environment, LeftElements::Copied);
}

std::optional<ProductInstruction> instruction_in_place(const Schedule& schedule, const Product& p,
                                                       const Environment& environment) {
  return best_instruction(schedule, p, environment, LeftElements::InPlace);
}

std::optional<ProductInstruction> instruction_laid_out(const Schedule& schedule, const Product& p,
                                                       const Environment& environment) {
  return best_instruction(schedule, p, environment, LeftElements::LaidOut);
}

bool gains_from_f16_sums(const Schedule& schedule, const Product& p,
                         const Environment& environment) {
  const auto& tensors = schedule.scop.tensors;
  const bool has_types = tensors[p.left].elem == Elem::F16 && tensors[p.right].elem == Elem::F16 &&
                         tensors[p.result].elem == Elem::F32;
  return has_types && schedule.scop.numerics == program::Numerics::Fast &&
         schedule.scop[p.update()].text.op == scalar::ReduceOp::Sum &&
         target::has_f16_arithmetic(environment.cpu) &&
         !(p.left_has_window && p.has_strided_lanes && environment.cpu.vector_bytes > 16);
}

int64_t f16_block(const Product& p) {
  const int64_t extent = p.extents[deepest_of(p)];
  const int64_t around = product_over(p.extents, p.depth) / extent;
  // One block would be no loop, and its results no fused nests of what they are added to.
  const int64_t most =
      std::clamp<int64_t>(kF16Depth / around, 1, std::max<int64_t>(1, (extent + 1) / 2));
  // Matrices are copied in bands of eight steps, which blocks shall not cut.
  const int64_t unit = around == 1 && most >= 2 * kBand ? kBand : 1;
  for (int64_t size = most / unit * unit; size > most / 2; size -= unit)
    if (extent % size == 0)
      return size;
  return most / unit * unit;
}

} // namespace kawara::schedule
