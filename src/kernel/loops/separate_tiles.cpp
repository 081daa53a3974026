#include "kernel/loops/separate_tiles.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/loops/padded_tile.h"
#include "kernel/loops/partial_tile.h"
#include "kernel/loops/share_tests.h"
#include "kernel/loops/tile_limits.h"
#include "kernel/loops/tile_start.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

bool contains(const std::vector<Expr>& list, const Expr& e) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& x) { return equal(x, e); });
}

bool contains_all(const std::vector<Expr>& list, const std::vector<Expr>& some) {
  return std::all_of(some.begin(), some.end(), [&](const Expr& e) { return contains(list, e); });
}

/// A loop none of whose iterations store to elements of another one, as far as indices show.
bool may_reduce(const For& loop) {
  return has(loop.body, [&](const Store& store) {
    return std::none_of(store.index.begin(), store.index.end(),
                        [&](const Expr& e) { return mentions(e, loop.var); });
  });
}

/// Dimensions of packed buffers that register tiles run along: what partial tiles leave out of them
/// is filled up, so that padded tiles can read it.
using Filled = std::set<std::pair<uint32_t, size_t>>;

bool becomes_straight(const For& loop) {
  return loop.marks.unroll == poly::kFullUnroll || loop.marks.vector_width != 0 ||
         !loop.marks.instruction.empty();
}

Filled filled_dimensions(const Kernel& kernel) {
  VarSet straight;
  visit(kernel.body, [&](const For& loop) {
    if (becomes_straight(loop))
      straight.insert(loop.var);
  });
  Filled filled;
  visit_loads(kernel.body, [&](const scalar::Load& load) {
    if (!kernel.buffers[load.tensor].is_packed)
      return;
    for (size_t d = 0; d < load.index.size(); ++d)
      if (mentions_any(load.index[d], straight))
        filled.emplace(load.tensor, d);
  });
  return filled;
}

/// Most stores to a buffer while it lives; of the two sides of a condition one is done.
class CopyCount {
public:
  CopyCount(const Block& body, uint32_t buffer) : buffer_(buffer) {
    most_ = std::max(in(body), most_);
  }
  size_t most() const { return most_; }

private:
  size_t in(const Block& block) {
    size_t count = 0;
    for (const Stmt& stmt : block)
      count += in(stmt);
    return count;
  }
  size_t in(const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      return store->buffer == buffer_ ? 1 : 0;
    size_t most = 0;
    for_blocks(stmt, [&](const Block& inside) { most = std::max(most, in(inside)); });
    const auto* allocate = std::get_if<Allocate>(&stmt);
    if (allocate == nullptr || allocate->buffer != buffer_)
      return most;
    most_ = std::max(most_, most);
    return 0;
  }

  uint32_t buffer_;
  size_t most_ = 0; ///< so far, in lives that have ended
};

/// Packed buffers that several nests fill, each a part: zeros around one part would go over the
/// others.
std::vector<uint32_t> filled_in_parts(const Kernel& kernel) {
  std::vector<uint32_t> found;
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].is_packed && CopyCount(kernel.body, b).most() > 1)
      found.push_back(b);
  return found;
}

class Separator {
public:
  explicit Separator(Kernel& kernel)
      : kernel_(kernel), buffers_(kernel.buffers.size()), filled_(filled_dimensions(kernel)) {}

  /// `settled`: conditions that were tested further out; loops that need only those stay as they
  /// are.
  Block block(const Block& statements, const std::vector<Expr>& settled) {
    Block result;
    size_t last = 0;    // where what the statement before became begins
    size_t defined = 0; // variables of this block that have known ends
    for (size_t s = 0; s < statements.size(); ++s) {
      if (const auto* define = std::get_if<Define>(&statements[s]))
        defined += enter(*define) ? 1 : 0;
      Block filled = filled_copy(statements[s], settled);
      if (filled.empty())
        filled = block_of(one(statements[s], settled));
      if (s > 0 && starts_tile(kernel_, statements[s - 1], filled))
        result.erase(result.begin() + static_cast<std::ptrdiff_t>(last), result.end());
      last = result.size();
      std::move(filled.begin(), filled.end(), std::back_inserter(result));
    }
    for (; defined > 0; --defined)
      ranges_.leave();
    return result;
  }

private:
  /// A variable with known ends is as good as that of a loop between them: loops that run as one
  /// (collapse.h) define what was theirs.
  bool enter(const Define& define) {
    intervals_.define(define.var, define.value);
    const scalar::Bounds ends =
        define.value.type() == scalar::kIndex ? intervals_.of(define.value) : scalar::Bounds{};
    if (!ends.low || !ends.high)
      return false;
    For loop;
    loop.var = define.var;
    loop.lo = int_lit(*ends.low);
    loop.hi = int_lit(*ends.high + 1);
    ranges_.enter(loop);
    return true;
  }

  /// A copy into a packed buffer that is known not to be full: padded tiles may read it all the
  /// same. Empty for others.
  Block filled_copy(const Stmt& stmt, const std::vector<Expr>& settled) {
    const auto* nest = std::get_if<For>(&stmt);
    return nest != nullptr && is_partial(*nest, settled, true) ? zero_filled(*nest) : Block();
  }

  /// Whether a test further out has found that a tile of the nest is not full: where it is, its
  /// ends are constants by now.
  bool is_partial(const For& nest, const std::vector<Expr>& settled, bool fills = false) const {
    bool found = false;
    if (!settled.empty())
      each_full(nest, [&](const For& loop, const Full& full) {
        found |= (!fills || fills_packed(loop)) && contains_all(settled, full.conditions);
      });
    return found;
  }

  Block zero_filled(const For& nest) {
    Block block = zero_padded(kernel_, nest, bounds_in_full_tile(), ranges_);
    if (!block.empty())
      each_full(nest, [&](const For& loop, const Full&) { note_filled(loop); });
    return block;
  }

  void note_filled(const For& loop) {
    visit(loop.body, [&](const Store& store) {
      for (size_t d = 0; d < store.index.size(); ++d)
        if (mentions(store.index[d], loop.var))
          zero_filled_.emplace(store.buffer, d);
    });
  }

  /// Constant bounds matter to loops that become straight code, and to those that fill packed
  /// buffers; around those, a test would only send more of the iterations to the slow side.
  bool gains_from_constants(const For& loop) const {
    if (becomes_straight(loop) || fills_packed(loop))
      return true;
    return loop.marks.is_isolated && !has(loop.body, [](const For& inner) {
             return inner.marks.unroll != 0 || inner.marks.vector_width != 0;
           });
  }

  bool fills_packed(const For& loop) const {
    return has(loop.body, [&](const Store& store) {
      bool found = false;
      if (kernel_.buffers[store.buffer].is_packed)
        for (size_t d = 0; d < store.index.size(); ++d)
          found |= filled_.contains({store.buffer, d}) && mentions(store.index[d], loop.var);
      return found;
    });
  }

  /// `around`: of the loops around this one.
  std::optional<Full> full_of(const For& loop, const Spans& around) const {
    return gains_from_constants(loop) ? full_loop(loop, around) : std::nullopt;
  }

  /// The spans inside a loop.
  Spans with_loop(const For& loop, Spans around) const {
    around.erase(loop.var);
    if (becomes_straight(loop) || fills_packed(loop))
      if (const auto span = span_of(loop))
        around[loop.var] = *span;
    return around;
  }

  /// A tracker of the spans at a place.
  struct SpansAround {
    const Separator& separator;
    std::vector<Spans> spans;

    void enter(const For& loop) { spans.push_back(separator.with_loop(loop, spans.back())); }
    void leave(const For&) { spans.pop_back(); }
  };

  /// Calls `f` with each loop that can be full and what it then is, parents first.
  template <OneOf<Block, Stmt> B, class F>
  void each_full(B&& root, const Spans& around, const F& f) const {
    SpansAround at{*this, {around}};
    visit_scoped(root, at, [&](OneOf<For> auto& loop) {
      if (const auto full = full_of(loop, at.spans.back()))
        f(loop, *full);
    });
  }
  template <class F> void each_full(const Stmt& stmt, const F& f) const {
    each_full(stmt, spans_, f);
  }

  /// The statement where the conditions hold: with constants as ends of the loops that need no
  /// others.
  Stmt full_tile(Stmt stmt, const std::vector<Expr>& conditions) const {
    each_full(stmt, spans_, [&](For& loop, const Full& full) {
      if (contains_all(conditions, full.conditions) || contains_all(conditions, full.everywhere)) {
        loop.lo = int_lit(full.lo);
        loop.hi = int_lit(full.hi);
      }
    });
    return stmt;
  }

  Stmt one(const Stmt& given, const std::vector<Expr>& settled) {
    const Stmt stmt = with_full_groups(given);
    if (const auto* nest = std::get_if<For>(&stmt); nest != nullptr && has_strided_lanes(*nest))
      if (Block tile = padded_tile(kernel_, *nest, bounds_in_full_tile(), ranges_); !tile.empty())
        return std::move(tile.front());
    if (const auto* nest = std::get_if<For>(&stmt);
        nest != nullptr && !is_tile(*nest) && has_results_apart(kernel_, *nest))
      if (Block tile = padded_tile(kernel_, *nest, bounds_in_full_tile(), ranges_); !tile.empty())
        return inside(std::move(tile.front()), settled);
    const auto* whole = std::get_if<For>(&stmt);
    const bool is_known_partial = whole != nullptr && is_partial(*whole, settled);
    if (is_known_partial)
      if (Block tile = padded_tile(kernel_, *whole, bounds_in_full_tile(), ranges_); !tile.empty())
        return std::move(tile.front());
    std::vector<Expr> conditions;
    if (std::get_if<For>(&stmt) != nullptr && !shares_test_below(stmt, settled))
      conditions = available(stmt, settled);
    if (conditions.empty())
      return inside(is_known_partial && !has_update(*whole) ? without_unrolled_rows(stmt) : stmt,
                    settled);
    std::vector<Expr> tested = settled;
    tested.insert(tested.end(), conditions.begin(), conditions.end());
    Expr all = conditions[0];
    for (size_t c = 1; c < conditions.size(); ++c)
      all = binary(BinaryOp::And, all, conditions[c]);
    If both;
    both.cond = scalar::simplify(all);
    both.then = block(block_of(full_tile(stmt, conditions)), tested);
    if (is_rectangular(stmt, conditions))
      both.otherwise = partial(std::get<For>(stmt), conditions);
    if (both.otherwise.empty())
      both.otherwise = block(block_of(stmt), tested);
    return both;
  }

  /// No loop of the tile ends where another one of it says.
  bool is_rectangular(const Stmt& stmt, const std::vector<Expr>& conditions) const {
    bool holds = true;
    each_full(stmt, [&](const For&, const Full& full) {
      if (contains_all(conditions, full.everywhere))
        holds = holds && contains_all(conditions, full.conditions);
    });
    return holds;
  }

  /// Whether the nest stores to the storage of a tile that was made here.
  bool is_tile(const For& nest) const {
    const std::set<uint32_t> stored = buffers_stored_in(nest.body);
    return std::any_of(stored.begin(), stored.end(), [&](uint32_t b) { return b >= buffers_; });
  }

  /// Sums of an instruction run over the zeros that fill packed operands up: no test is needed.
  Stmt with_full_groups(Stmt stmt) const {
    if (zero_filled_.empty() || std::get_if<For>(&stmt) == nullptr)
      return stmt;
    visit(stmt, [&](For& loop) {
      if (loop.marks.instruction.empty() || !adds_zeros_beyond(loop))
        return;
      if (const auto full = full_of(loop, {})) {
        loop.lo = int_lit(full->lo);
        loop.hi = int_lit(full->hi);
        visit(loop.body, [](Store& store) { store.origins = padded(std::move(store.origins)); });
      }
    });
    return stmt;
  }

  /// Every update inside adds a product of elements that follow the loop and are zero beyond its
  /// edge.
  bool adds_zeros_beyond(const For& loop) const {
    return may_reduce(loop) && !has(loop.body, [&](const Store& store) {
             const auto* product = scalar::as<scalar::Binary>(store.value);
             return store.op != ReduceOp::Sum || product == nullptr ||
                    product->op != BinaryOp::Mul || !reads_filled(product->lhs, loop.var) ||
                    !reads_filled(product->rhs, loop.var);
           });
  }

  bool reads_filled(Expr e, uint32_t var) const {
    while (const auto* cast = scalar::as<scalar::Cast>(e))
      e = cast->arg;
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr)
      return false;
    bool follows = false, is_filled = true;
    for (size_t d = 0; d < load->index.size(); ++d)
      if (mentions(load->index[d], var)) {
        follows = true;
        is_filled = is_filled && zero_filled_.contains({load->tensor, d});
      }
    return follows && is_filled;
  }

  FullBoundsOf bounds_in_full_tile() const {
    return [this](const For& loop) -> std::optional<FullBounds> {
      const auto full = full_of(loop, {});
      return full ? std::optional(FullBounds{full->lo, full->hi}) : std::nullopt;
    };
  }

  Block partial(const For& nest, const std::vector<Expr>& conditions) {
    const FullBoundsOf bounds = bounds_in_full_tile();
    Block block = padded_tile(kernel_, nest, bounds, ranges_);
    if (block.empty())
      block = zero_filled(nest);
    if (!block.empty())
      return block;
    return with_own_lanes(kernel_, partial_tile(kernel_, nest, tile_of(nest, conditions)), ranges_);
  }

  /// The loops that are full where the conditions hold.
  std::vector<TileLoop> tile_of(const Stmt& stmt, const std::vector<Expr>& conditions) const {
    std::vector<TileLoop> tile;
    each_full(stmt, [&](const For& loop, const Full& full) {
      if (contains_all(conditions, full.conditions))
        tile.push_back({loop.var, full.lo, full.hi, full.conditions});
    });
    return tile;
  }

  Stmt inside(Stmt stmt, const std::vector<Expr>& settled) {
    const auto* loop = std::get_if<For>(&stmt);
    const Spans around = spans_;
    if (loop != nullptr) {
      spans_ = with_loop(*loop, around);
      ranges_.enter(*loop);
      intervals_.enter(*loop);
    }
    for_blocks(stmt, [&](Block& statements) { statements = block(statements, settled); });
    if (loop != nullptr)
      ranges_.leave(*loop);
    spans_ = around;
    return stmt;
  }

  /// Conditions of full tiles below `stmt` that can be tested before it, each once.
  std::vector<Expr> available(const Stmt& stmt, const std::vector<Expr>& settled) const {
    const VarSet inner = vars_set_in(stmt);
    std::vector<Expr> conditions;
    each_full(stmt, [&](const For&, const Full& full) {
      if (contains_all(settled, full.conditions))
        return;
      const auto stands_before = [&](const std::vector<Expr>& list) {
        return std::none_of(list.begin(), list.end(),
                            [&](const Expr& e) { return mentions_any(e, inner); });
      };
      // Where bounds depend on other loops of the tile (triangles), the tile is full where the
      // worst of their iterations is; in tiles across the edge each iteration is then tested by
      // itself.
      const bool is_tested_once = stands_before(full.conditions);
      if (!is_tested_once &&
          (!stands_before(full.everywhere) || contains_all(settled, full.everywhere)))
        return;
      for (const Expr& e : is_tested_once ? full.conditions : full.everywhere)
        if (!contains(conditions, e))
          conditions.push_back(e);
    });
    return conditions;
  }

  /// Another loop of the tile can only be tested inside this loop, and testing both there costs no
  /// reduction its registers.
  bool shares_test_below(const Stmt& stmt, const std::vector<Expr>& settled) const {
    const auto& outer = std::get<For>(stmt);
    if (may_reduce(outer))
      return false;
    bool found = false;
    each_full(outer.body, with_loop(outer, spans_), [&](const For& loop, const Full& full) {
      if (contains_all(settled, full.conditions))
        return;
      // A copy is filled up as a whole where any part of it is missing.
      for (const Expr& e : fills_packed(loop) ? full.everywhere : full.conditions)
        found |= mentions(e, outer.var);
    });
    return found;
  }

  Kernel& kernel_;
  size_t buffers_; ///< that there were before
  Filled filled_;
  Spans spans_;        ///< of the loops around the present place
  Filled zero_filled_; ///< dimensions of packed buffers along which partial tiles were filled up so
                       ///< far
  Ranges ranges_;
  Intervals intervals_;
};

} // namespace

Kernel separate_tiles(Kernel kernel) {
  const Block body = kernel.body;
  const std::vector<uint32_t> parts = filled_in_parts(kernel);
  for (const uint32_t buffer : parts)
    kernel.buffers[buffer].is_packed = false;
  kernel.body = with_shared_tests(Separator(kernel).block(body, {}));
  for (const uint32_t buffer : parts)
    kernel.buffers[buffer].is_packed = true;
  visit(kernel.body, [](For& loop) { loop.marks.is_isolated = false; });
  return kernel;
}

} // namespace kawara::kernel
