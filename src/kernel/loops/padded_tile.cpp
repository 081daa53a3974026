#include "kernel/loops/padded_tile.h"

#include "kernel/loops/transpose_nest.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "program/interpret/instruction.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

/// A perfect nest around one store: loops without their bodies, outermost first, and the bounds
/// that they have in a full tile.
struct PaddedNest {
  std::vector<For> loops;
  std::map<uint32_t, FullBounds> full; ///< by variable
  const Store* store = nullptr;
};

PaddedNest nest_of(const For& outermost, const FullBoundsOf& full_of) {
  PaddedNest nest;
  const For* loop = &outermost;
  for (;;) {
    if (const auto full = full_of(*loop))
      nest.full[loop->var] = *full;
    For header = *loop;
    header.body.clear();
    nest.loops.push_back(std::move(header));
    if (loop->body.size() != 1)
      return nest;
    const For* inner = std::get_if<For>(&loop->body[0]);
    if (inner == nullptr)
      break;
    loop = inner;
  }
  nest.store = std::get_if<Store>(&loop->body[0]);
  return nest;
}

Block around(const std::vector<For>& loops, Stmt innermost) {
  Block block = block_of(std::move(innermost));
  for (size_t l = loops.size(); l-- > 0;) {
    For loop = loops[l];
    loop.body = std::move(block);
    block = block_of(std::move(loop));
  }
  return block;
}

std::vector<For> with_bounds(std::vector<For> loops, const std::map<uint32_t, FullBounds>& bounds) {
  for (For& loop : loops)
    if (const auto full = bounds.find(loop.var); full != bounds.end()) {
      loop.lo = int_lit(full->second.lo);
      loop.hi = int_lit(full->second.hi);
    }
  return loops;
}

bool is_inside(const Kernel& kernel, uint32_t buffer, const std::vector<Expr>& index,
               const Ranges& ranges) {
  const std::vector<Expr>& shape = kernel.buffers[buffer].shape;
  for (size_t d = 0; d < index.size(); ++d)
    if (has_load(index[d]) || index[d].type() != scalar::kIndex ||
        !ranges.is_at_least(index[d], 0) ||
        !ranges.is_at_least(scalar::simplify(shape[d] - index[d]), 1))
      return false;
  return true;
}

/// The variables, and those of loops whose ends depend on them.
VarSet with_epilogue(VarSet vars, const std::vector<For>& loops) {
  for (const For& loop : loops) // outermost first: what a loop depends on comes before it
    if (mentions_any(loop.lo, vars) || mentions_any(loop.hi, vars))
      vars.insert(loop.var);
  return vars;
}

/// Every load that follows a loop with an edge reads an element of a packed buffer, also beyond the
/// edge.
bool reads_packed_elements(const Kernel& kernel, const Expr& value, const VarSet& with_edge,
                           const Ranges& ranges) {
  bool holds = true;
  scalar::visit(value, [&](const Expr& e) {
    const auto* load = as<scalar::Load>(e);
    if (load == nullptr || std::none_of(load->index.begin(), load->index.end(),
                                        [&](const Expr& i) { return mentions_any(i, with_edge); }))
      return;
    holds = holds && kernel.buffers[load->tensor].is_packed &&
            is_inside(kernel, load->tensor, load->index, ranges);
  });
  return holds;
}

/// Results that other results are made of have to be there while the tile is computed.
bool reads_results(const Store& store) {
  bool found = false;
  scalar::visit(store.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    found = found || (load != nullptr && load->tensor == store.buffer);
  });
  return found;
}

bool is_straight(const For& loop) {
  return loop.marks.unroll == poly::kFullUnroll || loop.marks.vector_width != 0 ||
         !loop.marks.instruction.empty();
}

/// Bounds of the loops that become straight code and always run from end to end.
void add_constant_bounds(PaddedNest& nest) {
  for (const For& loop : nest.loops) {
    const auto lo = scalar::constant_of(loop.lo), hi = scalar::constant_of(loop.hi);
    if (is_straight(loop) && lo && hi && loop.step == 1)
      nest.full.emplace(loop.var, FullBounds{*lo, *hi});
  }
}

/// Loops of the result come first and stay outside; then reduction and tile loops, mixed.
struct Roles {
  std::vector<For> outer, inner, tile;
};

std::optional<Roles> roles_of(const PaddedNest& nest) {
  Roles roles;
  VarSet reductions;
  for (const For& loop : nest.loops) {
    if (loop.marks.is_parallel)
      return std::nullopt;
    const bool moves_result = std::any_of(nest.store->index.begin(), nest.store->index.end(),
                                          [&](const Expr& e) { return mentions(e, loop.var); });
    const bool is_tile = nest.full.contains(loop.var) && moves_result;
    if (moves_result && !is_tile) {
      if (!roles.inner.empty())
        return std::nullopt;
      roles.outer.push_back(loop);
      continue;
    }
    // A tile whose edge moves along the reduction would add what lies beyond it, and its results
    // are stored where there is no reduction.
    if (is_tile && (mentions_any(loop.lo, reductions) || mentions_any(loop.hi, reductions)))
      return std::nullopt;
    roles.inner.push_back(loop);
    if (is_tile)
      roles.tile.push_back(loop);
    else
      reductions.insert(loop.var);
  }
  const bool reduces = roles.tile.size() < roles.inner.size();
  return reduces && !roles.tile.empty() ? std::optional(std::move(roles)) : std::nullopt;
}

/// The loops of an instruction as vectors of its lanes, around statements that are not the update.
void as_plain_lanes(std::vector<For>& loops) {
  for (For& loop : loops) {
    if (loop.marks.instruction.empty())
      continue;
    const program::Instruction& instruction =
        program::instruction_of(*target::find_intrinsic(loop.marks.instruction));
    const bool is_innermost = &loop == &loops.back();
    loop.marks.vector_width = is_innermost ? instruction.extents[loop.marks.instruction_axis] : 0;
    loop.marks.instruction.clear();
  }
}

/// Elements that a store moves by when a variable grows by one, in row-major order; nothing where
/// that is no constant.
std::optional<int64_t> step_of(const Kernel& kernel, const Store& store, uint32_t var) {
  const std::vector<Expr>& shape = kernel.buffers[store.buffer].shape;
  std::optional<int64_t> stride = 1;
  int64_t step = 0;
  for (size_t d = store.index.size(); d-- > 0;) {
    for (const auto& [term, factor] : scalar::affine_sum(store.index[d]).terms) {
      if (!mentions(term, var))
        continue;
      if (as<scalar::Var>(term) == nullptr || !stride)
        return std::nullopt;
      step += factor * *stride;
    }
    const auto extent = scalar::constant_of(shape[d]);
    stride = stride && extent ? std::optional(*stride * *extent) : std::nullopt;
  }
  return step;
}

/// Loops of a tile that end in those of an instruction whose results are one of its registers
/// (target::Intrinsic::is_tile): how many these are; 0 for others.
size_t register_loops(const std::vector<For>& loops, const std::map<uint32_t, FullBounds>& bounds) {
  const target::Intrinsic* data = target::find_intrinsic(loops.back().marks.instruction);
  if (data == nullptr || !data->is_tile)
    return 0;
  const program::Operand& result = program::instruction_of(*data).result();
  const size_t count = result.shape.size();
  if (loops.size() < count)
    return 0;
  for (size_t d = 0; d < count; ++d) {
    const For& loop = loops[loops.size() - count + d];
    const FullBounds full = bounds.at(loop.var);
    const int64_t length = full.hi - full.lo;
    const bool fits = d == 0 ? length <= result.shape[d] : length == result.shape[d];
    if (loop.marks.instruction != data->name || result.axes[d] != loop.marks.instruction_axis ||
        !fits)
      return 0;
  }
  return count;
}

/// Sets the elements of a tile, those of a register at once.
Block start_of_tile(const Kernel& kernel, uint32_t tile, std::vector<For> loops,
                    const std::vector<Expr>& element, const std::map<uint32_t, FullBounds>& bounds,
                    const Expr& value) {
  const size_t held = register_loops(loops, bounds);
  if (held == 0) {
    as_plain_lanes(loops);
    return around(with_bounds(loops, bounds), Store{tile, element, ReduceOp::None, value});
  }
  Expr first = int_lit(0);
  int64_t lanes = 1;
  for (size_t d = 0; d < element.size(); ++d) {
    const bool is_held = d + held >= element.size();
    const int64_t extent = *scalar::constant_of(kernel.buffers[tile].shape[d]);
    first = first * int_lit(extent) + (is_held ? int_lit(0) : element[d]);
    lanes *= is_held ? extent : 1;
  }
  loops.resize(loops.size() - held);
  const auto count = static_cast<uint16_t>(lanes);
  return around(with_bounds(loops, bounds), Store{tile,
                                                  {scalar::ramp(scalar::simplify(first), 1, count)},
                                                  ReduceOp::None,
                                                  scalar::broadcast(value, count)});
}

void without_unrolling(std::vector<For>& loops) {
  for (For& loop : loops)
    loop.marks.unroll = 0;
}

} // namespace

Block padded_tile(Kernel& kernel, const For& outermost, const FullBoundsOf& full_of,
                  Ranges ranges) {
  PaddedNest nest = nest_of(outermost, full_of);
  VarSet with_edge;
  for (const auto& [var, bounds] : nest.full)
    with_edge.insert(var);
  add_constant_bounds(nest);
  if (nest.store == nullptr || nest.store->op == ReduceOp::None || reads_results(*nest.store) ||
      (kernel.numerics == program::Numerics::Exact &&
       scalar::is_float(kernel.buffers[nest.store->buffer].elem)))
    return {};
  const auto roles = roles_of(nest);
  if (!roles)
    return {};
  std::map<uint32_t, FullBounds> of_tile;
  for (const For& loop : roles->tile)
    of_tile[loop.var] = nest.full.at(loop.var);
  const std::vector<For> full = with_bounds(nest.loops, of_tile);
  for (const For& loop : full)
    ranges.enter(loop);
  if (!reads_packed_elements(kernel, nest.store->value, with_epilogue(with_edge, full), ranges))
    return {};

  const Store& store = *nest.store;
  Buffer tile;
  tile.name = kernel.buffers[store.buffer].name + "_tile";
  tile.elem = kernel.buffers[store.buffer].elem;
  tile.scope = Scope::Private;
  std::vector<Expr> element;
  for (const For& loop : roles->tile) {
    const FullBounds bounds = of_tile.at(loop.var);
    tile.shape.push_back(int_lit(bounds.hi - bounds.lo));
    element.push_back(scalar::simplify(scalar::var(loop.var) - int_lit(bounds.lo)));
  }
  const auto id = static_cast<uint32_t>(kernel.buffers.size());
  const scalar::Type stored{tile.elem, 1};
  kernel.buffers.push_back(std::move(tile));
  const scalar::Type type = store.value.type();
  const Expr neutral = scalar::cast(scalar::identity_of(store.op, stored), type);

  Block body = start_of_tile(kernel, id, roles->tile, element, of_tile, neutral);
  Store update{id, element, store.op, store.value};
  update.origins = padded(store.origins);
  for (Stmt& s : around(with_bounds(roles->inner, of_tile), std::move(update)))
    body.push_back(std::move(s));
  std::vector<For> edge = roles->tile;
  as_plain_lanes(edge);
  without_unrolling(edge);
  if (edge.back().marks.vector_width > 1 && is_strided(edge.back(), store))
    transpose_nest(edge, store);
  const Expr sum = scalar::cast(scalar::load(id, element, stored), type);
  for (Stmt& s : around(edge, Store{store.buffer, store.index, store.op, sum}))
    body.push_back(std::move(s));
  const Stmt whole = Allocate{id, std::move(body)};
  return roles->outer.empty() ? block_of(whole) : around(roles->outer, whole);
}

bool has_strided_lanes(const For& outermost) {
  const PaddedNest nest = nest_of(outermost, [](const For&) { return std::nullopt; });
  if (nest.store == nullptr || nest.store->op == ReduceOp::None || nest.store->index.empty())
    return false;
  const For& lanes = nest.loops.back();
  return lanes.marks.vector_width > 1 && is_strided(lanes, *nest.store);
}

Block with_own_lanes(Kernel& kernel, const Block& block, const Ranges& ranges) {
  const auto inside = [&](const Block& b) { return with_own_lanes(kernel, b, ranges); };
  const auto unknown = [](const For&) { return std::nullopt; };
  return with_each_replaced(block, [&](const Stmt& stmt) {
    const auto* nest = std::get_if<For>(&stmt);
    Block tile;
    if (nest != nullptr && has_strided_lanes(*nest))
      tile = padded_tile(kernel, *nest, unknown, ranges);
    return tile.empty() ? block_of(with_nested_blocks(stmt, inside)) : tile;
  });
}

bool has_results_apart(const Kernel& kernel, const For& outermost) {
  const PaddedNest nest = nest_of(outermost, [](const For&) { return std::nullopt; });
  const std::string& name = nest.loops.back().marks.instruction;
  if (nest.store == nullptr || name.empty() || nest.store->op == ReduceOp::None)
    return false;
  const program::Operand& result = program::instruction_of(*target::find_intrinsic(name)).result();
  int64_t expected = 1;
  for (size_t d = result.shape.size(); d-- > 0; expected *= result.shape[d])
    for (const For& loop : nest.loops)
      if (loop.marks.instruction == name && result.axes[d] == loop.marks.instruction_axis &&
          step_of(kernel, *nest.store, loop.var) != expected)
        return true;
  return false;
}

Block zero_padded(const Kernel& kernel, const For& outermost, const FullBoundsOf& full_of,
                  Ranges ranges) {
  const PaddedNest nest = nest_of(outermost, full_of);
  if (nest.store == nullptr || nest.store->op != ReduceOp::None ||
      !kernel.buffers[nest.store->buffer].is_packed)
    return {};
  const std::vector<For> full = with_bounds(nest.loops, nest.full);
  for (const For& loop : full)
    ranges.enter(loop);
  if (!is_inside(kernel, nest.store->buffer, nest.store->index, ranges))
    return {};
  Store zero = *nest.store;
  zero.value = scalar::zero_of(zero.value.type());
  zero.origins.clear();
  Block result = around(full, std::move(zero));
  std::vector<For> edge = nest.loops;
  without_unrolling(edge);
  for (Stmt& s : around(edge, *nest.store))
    result.push_back(std::move(s));
  return result;
}

} // namespace kawara::kernel
