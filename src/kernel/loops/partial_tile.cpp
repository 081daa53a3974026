#include "kernel/loops/partial_tile.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// A perfect nest: loops without their bodies, outermost first, and what the innermost does.
struct PartialNest {
  std::vector<For> loops;
  Block body;
};

PartialNest nest_of(const For& outermost) {
  PartialNest nest;
  const For* loop = &outermost;
  for (;;) {
    For header = *loop;
    header.body.clear();
    nest.loops.push_back(std::move(header));
    const For* inner = loop->body.size() == 1 ? std::get_if<For>(&loop->body[0]) : nullptr;
    if (inner == nullptr)
      break;
    loop = inner;
  }
  nest.body = loop->body;
  return nest;
}

Block loops_from(const PartialNest& nest) {
  Block block = nest.body;
  for (size_t l = nest.loops.size(); l-- > 0;) {
    For loop = nest.loops[l];
    loop.body = std::move(block);
    block = block_of(std::move(loop));
  }
  return block;
}

/// Updates whose order nobody can see, but for rounding.
bool are_free_updates(const Kernel& kernel, const Block& body) {
  std::map<uint32_t, ReduceOp> ops;
  for (const Stmt& stmt : body) {
    const auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr || store->op == ReduceOp::None ||
        ops.emplace(store->buffer, store->op).first->second != store->op)
      return false;
  }
  bool reads_back = false;
  visit_loads(body, [&](const scalar::Load& load) {
    reads_back = reads_back || ops.contains(load.tensor);
  });
  return !reads_back && kernel.numerics != program::Numerics::Exact;
}

const TileLoop* tile_loop_of(const std::vector<TileLoop>& tile, uint32_t var) {
  const auto found =
      std::find_if(tile.begin(), tile.end(), [&](const TileLoop& t) { return t.var == var; });
  return found == tile.end() ? nullptr : &*found;
}

bool is_reduction(const PartialNest& nest, const For& loop) {
  return std::none_of(nest.body.begin(), nest.body.end(), [&](const Stmt& stmt) {
    const auto& index = std::get<Store>(stmt).index;
    return std::any_of(index.begin(), index.end(),
                       [&](const Expr& e) { return mentions(e, loop.var); });
  });
}

bool is_suitable(const Kernel& kernel, const PartialNest& nest, const std::vector<TileLoop>& tile) {
  if (!are_free_updates(kernel, nest.body))
    return false;
  VarSet inside;
  for (const For& loop : nest.loops)
    inside.insert(loop.var);
  size_t found = 0, reductions = 0;
  for (const For& loop : nest.loops) {
    const bool is_tile = tile_loop_of(tile, loop.var) != nullptr;
    const bool has_own_bounds = !mentions_any(loop.lo, inside) && !mentions_any(loop.hi, inside);
    const bool is_marked = loop.marks.vector_width > 1 || loop.marks.unroll != 0;
    if (loop.marks.is_parallel || !has_own_bounds || (is_tile && (!is_marked || loop.step != 1)))
      return false;
    found += is_tile ? 1 : 0;
    reductions += !is_tile && is_reduction(nest, loop) ? 1 : 0;
  }
  return found == tile.size() && reductions != 0;
}

class PartialTile {
public:
  PartialTile(Kernel& kernel, const std::vector<TileLoop>& tile) : kernel_(kernel), tile_(tile) {}

  /// Settles the tile loops from number `next` on. `is_full_so_far`: those before are full, so the
  /// last one cannot be.
  Block settle(const PartialNest& nest, size_t next, bool is_full_so_far) {
    if (next == tile_.size())
      return loops_from(nest);
    const TileLoop& tile = tile_[next];
    Block partial = moved_out(nest, next);
    if (is_full_so_far && next + 1 == tile_.size())
      return partial;
    PartialNest full = nest;
    For& loop = full.loops[position_of(full, tile.var)];
    loop.lo = int_lit(tile.lo);
    loop.hi = int_lit(tile.hi);
    If both;
    both.cond = tile.conditions[0];
    for (size_t c = 1; c < tile.conditions.size(); ++c)
      both.cond = binary(BinaryOp::And, both.cond, tile.conditions[c]);
    both.cond = scalar::simplify(both.cond);
    both.then = settle(full, next + 1, is_full_so_far);
    both.otherwise = std::move(partial);
    return block_of(std::move(both));
  }

private:
  static size_t position_of(const PartialNest& nest, uint32_t var) {
    size_t at = 0;
    while (nest.loops[at].var != var)
      ++at;
    return at;
  }

  /// The nest inside a loop over what it was inside.
  Block moved_out(const PartialNest& nest, size_t next) {
    const size_t at = position_of(nest, tile_[next].var);
    For outer = nest.loops[at];
    PartialNest single = nest;
    single.loops.erase(single.loops.begin() + static_cast<std::ptrdiff_t>(at));
    const int64_t width = outer.marks.vector_width;
    outer.marks = {};
    Block result;
    if (width > 1) {
      const std::string name = kernel_.variables[outer.var].name;
      const uint32_t rest = add_variable(kernel_, name + "_rest", scalar::kIndex);
      const uint32_t vector = add_variable(kernel_, name + "_v", scalar::kIndex);
      result.emplace_back(
          Define{rest, scalar::simplify(outer.lo + covered_distance(outer, width))});
      PartialNest whole = nest;
      whole.loops[at].lo = scalar::var(vector);
      whole.loops[at].hi = scalar::var(vector) + int_lit(width);
      For vectors;
      vectors.var = vector;
      vectors.lo = outer.lo;
      vectors.hi = scalar::var(rest);
      vectors.step = width;
      vectors.body = settle(whole, next + 1, false);
      result.emplace_back(std::move(vectors));
      outer.lo = scalar::var(rest);
    }
    outer.body = settle(single, next + 1, false);
    result.emplace_back(std::move(outer));
    return result;
  }

  Kernel& kernel_;
  const std::vector<TileLoop>& tile_;
};

} // namespace

Block partial_tile(Kernel& kernel, const For& outermost, const std::vector<TileLoop>& tile) {
  const PartialNest nest = nest_of(outermost);
  if (tile.empty() || !is_suitable(kernel, nest, tile))
    return {};
  return PartialTile(kernel, tile).settle(nest, 0, true);
}

Stmt without_unrolled_rows(Stmt stmt) {
  visit(stmt, [](For& loop) {
    if (loop.marks.vector_width == 0)
      loop.marks.unroll = 0;
  });
  return stmt;
}

bool has_update(const For& nest) {
  return has(nest.body, [](const Store& store) { return store.op != ReduceOp::None; });
}

} // namespace kawara::kernel
