#include "kernel/vector/tensorize.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "program/interpret/instruction.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using program::Instruction;
using program::Operand;
using scalar::as;
using scalar::int_lit;

/// The loops of one instruction and the update inside them.
struct Band {
  std::vector<const For*> loops; ///< outermost first
  const Store* update = nullptr;
};

std::optional<Band> band_at(const For& outermost) {
  Band band;
  const For* loop = &outermost;
  while (true) {
    band.loops.push_back(loop);
    if (loop->body.size() != 1)
      return std::nullopt;
    const auto* inner = std::get_if<For>(&loop->body[0]);
    if (inner == nullptr)
      break;
    if (inner->marks.instruction != outermost.marks.instruction)
      return std::nullopt;
    loop = inner;
  }
  band.update = std::get_if<Store>(&loop->body[0]);
  return band.update != nullptr ? std::optional(band) : std::nullopt;
}

/// Replaces one band; empty where it cannot be done.
class Replacement {
public:
  Replacement(const Kernel& kernel, const Instruction& instruction, const Band& band)
      : kernel_(kernel), instruction_(instruction), band_(band) {}

  Block run() {
    const Store& update = *band_.update;
    take_rows();
    if (update.op != instruction_.op || !order_loops() ||
        kernel_.buffers[update.buffer].elem != instruction_.result().elem)
      return {};
    for (const program::OperandLoads& loads : program::matching_loads(instruction_, update.value)) {
      loads_ = loads;
      Block block;
      if (add_blocks(0, block))
        return block;
    }
    return {};
  }

private:
  /// Tiles may have fewer rows than an instruction can do.
  void take_rows() {
    const auto axis = program::axis_of_rows(instruction_);
    for (const For* loop : band_.loops)
      if (const auto trips = trip_count(*loop); axis && loop->marks.instruction_axis == *axis &&
                                                trips && *trips > 0 &&
                                                *trips < instruction_.extents[*axis])
        instruction_ = program::with_rows(instruction_, *trips);
  }

  /// By axis: the loop, and that it is a multiple of the axis long.
  bool order_loops() {
    by_axis_.assign(instruction_.extents.size(), nullptr);
    for (const For* loop : band_.loops) {
      const uint32_t axis = loop->marks.instruction_axis;
      const auto trips = trip_count(*loop);
      if (axis >= by_axis_.size() || by_axis_[axis] != nullptr || loop->step != 1 || !trips ||
          *trips <= 0 || *trips % instruction_.extents[axis] != 0)
        return false;
      by_axis_[axis] = loop;
    }
    starts_.assign(by_axis_.size(), Expr());
    return band_.loops.size() == by_axis_.size();
  }

  /// One instruction for each block of the loops, in their order.
  bool add_blocks(size_t level, Block& out) {
    if (level == band_.loops.size())
      return add_one(out);
    const For& loop = *band_.loops[level];
    const uint32_t axis = loop.marks.instruction_axis;
    const int64_t trips = *trip_count(loop);
    for (int64_t at = 0; at < trips; at += instruction_.extents[axis]) {
      starts_[axis] = scalar::simplify(loop.lo + int_lit(at));
      if (!add_blocks(level + 1, out))
        return false;
    }
    return true;
  }

  bool add_one(Block& out) {
    const Store& update = *band_.update;
    std::vector<Expr> args;
    for (size_t k = 0; k < instruction_.inputs(); ++k) {
      const auto* load = as<scalar::Load>(loads_[k]);
      const auto index = run_of(instruction_.operands[k], load->tensor, load->index);
      if (load->tensor == update.buffer || !index)
        return false;
      args.push_back(in_register(k, *index, load->tensor));
    }
    const Operand& result = instruction_.result();
    const auto elements = run_of(result, update.buffer, update.index);
    if (!elements)
      return false;
    const scalar::Type stored{result.elem, static_cast<uint16_t>(result.lanes())};
    args.push_back(scalar::load(update.buffer, *elements, stored));
    const Expr value = scalar::instruction(std::string(instruction_.data->name), std::move(args));
    const scalar::Type computed{scalar::compute_type(result.elem), stored.lanes};
    Store store{update.buffer, *elements, ReduceOp::None, scalar::cast(value, computed)};
    store.origins = update.origins;
    for (size_t axis = 0; axis < by_axis_.size(); ++axis)
      store.origins = over_iterations(std::move(store.origins), by_axis_[axis]->var, starts_[axis],
                                      1, int_lit(instruction_.extents[axis]));
    out.emplace_back(std::move(store));
    return true;
  }

  Expr in_register(size_t k, const std::vector<Expr>& index, uint32_t buffer) const {
    const Operand& operand = instruction_.operands[k];
    const scalar::Type type{operand.elem, static_cast<uint16_t>(operand.lanes())};
    if (instruction_.data->is_tile)
      return scalar::load(buffer, index, type);
    const auto& registers = instruction_.data->arguments;
    const auto held = std::find_if(registers.begin(), registers.end(), [&](const auto& r) {
      return std::string_view(&r.operand, 1) == operand.name;
    });
    const int64_t bytes = held->lanes * scalar::bytes_of(*scalar::elem_from_name(held->elem));
    return scalar::broadcast(scalar::load(buffer, index, type),
                             static_cast<uint16_t>(bytes / scalar::bytes_of(operand.elem)));
  }

  /// Elements that an access moves by along each axis, in row-major order; nothing where that is
  /// not a number, the same in all blocks.
  std::optional<std::vector<int64_t>> steps_of(uint32_t buffer,
                                               const std::vector<Expr>& index) const {
    const std::vector<Expr>& shape = kernel_.buffers[buffer].shape;
    std::vector<int64_t> steps(by_axis_.size(), 0);
    std::optional<int64_t> stride = 1;
    for (size_t d = index.size(); d-- > 0;) {
      for (const auto& [term, factor] : scalar::affine_sum(index[d]).terms)
        for (size_t axis = 0; axis < by_axis_.size(); ++axis) {
          if (!mentions(term, by_axis_[axis]->var))
            continue;
          if (as<scalar::Var>(term) == nullptr || !stride)
            return std::nullopt;
          steps[axis] += factor * *stride;
        }
      const auto extent = scalar::constant_of(shape[d]);
      stride = stride && extent ? std::optional(*stride * *extent) : std::nullopt;
    }
    return steps;
  }

  /// Whether rows of the operand, along its outermost dimension, may lie anywhere.
  bool has_rows(const Operand& operand) const {
    return instruction_.data->is_tile && &operand != &instruction_.result();
  }

  /// The elements of the operand's lanes are neighbours in their order and do not move along other
  /// axes.
  bool is_run(const Operand& operand, const std::vector<int64_t>& steps) const {
    for (uint32_t axis = 0; axis < steps.size(); ++axis)
      if (!operand.follows(axis) && steps[axis] != 0)
        return false;
    int64_t expected = 1;
    for (size_t d = operand.shape.size(); d-- > 0; expected *= operand.shape[d])
      if (operand.axes[d] && steps[*operand.axes[d]] != expected &&
          !(d == 0 && has_rows(operand) && steps[*operand.axes[d]] > expected))
        return false;
    return true;
  }

  std::optional<std::vector<Expr>> run_of(const Operand& operand, uint32_t buffer,
                                          const std::vector<Expr>& index) const {
    if (index.size() != kernel_.buffers[buffer].shape.size() || index.empty())
      return std::nullopt;
    const auto steps = steps_of(buffer, index);
    if (!steps || !is_run(operand, *steps))
      return std::nullopt;
    std::vector<Expr> first;
    for (Expr e : index) {
      for (size_t axis = 0; axis < by_axis_.size(); ++axis)
        e = substitute_var(e, by_axis_[axis]->var, starts_[axis]);
      first.push_back(e);
    }
    const int64_t rows = operand.shape.front(), row = operand.lanes() / rows;
    const int64_t apart = has_rows(operand) ? (*steps)[*operand.axes.front()] : row;
    return apart == row ? as_run(operand, buffer, std::move(first))
                        : std::vector<Expr>{scalar::runs(flat_position(buffer, first), row, apart,
                                                         static_cast<uint16_t>(operand.lanes()))};
  }

  /// Within the last dimension as a ramp there. Over several dimensions, or in a packed buffer,
  /// where neighbouring operands share one load, as a ramp over the flat position.
  std::vector<Expr> as_run(const Operand& operand, uint32_t buffer, std::vector<Expr> first) const {
    const auto lanes = static_cast<uint16_t>(operand.lanes());
    const bool is_one_row = operand.shape.back() == lanes && !kernel_.buffers[buffer].is_packed;
    if (is_one_row || first.size() == 1) {
      first.back() = scalar::ramp(first.back(), 1, lanes);
      return first;
    }
    return {scalar::ramp(flat_position(buffer, first), 1, lanes)};
  }

  Expr flat_position(uint32_t buffer, const std::vector<Expr>& index) const {
    Expr flat = index[0];
    for (size_t d = 1; d < index.size(); ++d)
      flat = flat * kernel_.buffers[buffer].shape[d] + index[d];
    return scalar::expr_of(scalar::affine_sum(flat));
  }

  const Kernel& kernel_;
  Instruction instruction_;
  const Band& band_;
  std::vector<const For*> by_axis_;
  std::vector<Expr> starts_; ///< of the block under way, by axis
  program::OperandLoads loads_;
};

} // namespace

Kernel tensorize(Kernel kernel, const target::Cpu& cpu) {
  const auto replaced = [&](const For& loop) -> Block {
    const std::string& name = loop.marks.instruction;
    const target::Intrinsic* data = target::find_intrinsic(name);
    if (data == nullptr || !target::is_available(*data, cpu))
      return {};
    const auto band = band_at(loop);
    return band ? Replacement(kernel, program::instruction_of(*data), *band).run() : Block{};
  };
  // Bottom-up: inner loops of a band are met first, and fail for want of the outer ones.
  kernel.body = rewrite(kernel.body, [&](For loop) {
    Block block = loop.marks.instruction.empty() ? Block{} : replaced(loop);
    return block.empty() ? block_of(std::move(loop)) : block;
  });
  visit(kernel.body, [](For& loop) { loop.marks.instruction.clear(); });
  return kernel;
}

} // namespace kawara::kernel
