#include "kernel/separate_tiles.h"

#include "kernel/intervals.h"
#include "kernel/padded_tile.h"
#include "kernel/partial_tile.h"
#include "kernel/ranges.h"
#include "kernel/tile_start.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// First and last value that variables of straight loops can have.
using Spans = std::map<uint32_t, std::pair<int64_t, int64_t>>;

/// The smallest value of a sum over all values of those variables, or the largest. What is not a multiple of
/// one of them stays as it is.
Expr extreme_of(const Expr& e, const Spans& spans, bool is_smallest) {
  scalar::AffineSum sum = scalar::affine_sum(e);
  std::erase_if(sum.terms, [&](const auto& term) {
    const auto& [factor, coefficient] = term;
    const auto* var = scalar::as<scalar::Var>(factor);
    const auto span = var != nullptr ? spans.find(var->id) : spans.end();
    if (span == spans.end())
      return false;
    const auto [first, last] = span->second;
    sum.constant += coefficient * ((coefficient > 0) == is_smallest ? first : last);
    return true;
  });
  return scalar::expr_of(sum);
}

/// The constant among `operands` and what must hold for it to be the bound; none without a constant
/// or without other operands.
struct Limit {
  int64_t value = 0;
  std::vector<Expr> holds;
  std::vector<Expr> holds_everywhere; ///< in all iterations of straight loops
};

std::optional<Limit> limit_of(const Expr& bound, BinaryOp op, BinaryOp comparison,
                              const Spans& spans) {
  Limit limit;
  bool has_constant = false;
  std::vector<Expr> others;
  for (const Expr& e : operands_of(bound, op)) {
    if (const auto c = scalar::constant_of(e)) {
      limit.value = has_constant ? (op == BinaryOp::Min ? std::min(limit.value, *c)
                                                        : std::max(limit.value, *c))
                                 : *c;
      has_constant = true;
    } else
      others.push_back(e);
  }
  if (!has_constant)
    return std::nullopt;
  const auto is_limit = [&](const Expr& e) {
    return scalar::simplify(binary(comparison, e, int_lit(limit.value)));
  };
  for (const Expr& e : others) {
    limit.holds.push_back(is_limit(e));
    limit.holds_everywhere.push_back(is_limit(extreme_of(e, spans, op == BinaryOp::Min)));
  }
  return limit;
}

/// What a loop becomes in a full tile.
struct Full {
  int64_t lo = 0, hi = 0;
  std::vector<Expr> conditions;
  std::vector<Expr> everywhere; ///< enough for the conditions in all iterations of the tile's loops
};

bool contains(const std::vector<Expr>& list, const Expr& e) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& x) { return equal(x, e); });
}

bool contains_all(const std::vector<Expr>& list, const std::vector<Expr>& some) {
  return std::all_of(some.begin(), some.end(), [&](const Expr& e) { return contains(list, e); });
}

/// A loop none of whose iterations store to cells of another one, as far as indices show.
bool may_reduce(const For& loop) {
  bool found = false;
  visit(loop.body, [&](const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      found |= std::none_of(store->index.begin(), store->index.end(),
                            [&](const Expr& e) { return mentions(e, loop.var); });
  });
  return found;
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
  visit(kernel.body, [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt); loop != nullptr && becomes_straight(*loop))
      straight.insert(loop->var);
  });
  Filled filled;
  visit_exprs(kernel.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      if (load == nullptr || !kernel.buffers[load->tensor].is_packed)
        return;
      for (size_t d = 0; d < load->index.size(); ++d)
        if (mentions_any(load->index[d], straight))
          filled.emplace(load->tensor, d);
    });
  });
  return filled;
}

/// A loop of a tile has the constants among its bounds as its ends, or fewer iterations.
void add_span(const For& loop, Spans& spans) {
  const auto lo = limit_of(loop.lo, BinaryOp::Max, BinaryOp::Le, {});
  const auto hi = limit_of(loop.hi, BinaryOp::Min, BinaryOp::Ge, {});
  if (lo && hi && lo->value < hi->value)
    spans.emplace(loop.var, std::pair(lo->value, hi->value - 1));
}

class Separator {
public:
  explicit Separator(Kernel& kernel)
      : kernel_(kernel), buffers_(kernel.buffers.size()), filled_(filled_dimensions(kernel)) {
    visit(kernel.body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && (becomes_straight(*loop) || fills_packed(*loop)))
        add_span(*loop, spans_);
    });
  }

  /// `settled`: conditions that were tested further out; loops that need only those stay as they are.
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
  /// A variable with known ends is as good as that of a loop between them: loops that run as one (join_loops.h) define
  /// what was theirs.
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

  /// A copy into a packed buffer that is known not to be full: padded tiles may read it all the same. Empty for
  /// others.
  Block filled_copy(const Stmt& stmt, const std::vector<Expr>& settled) {
    const auto* nest = std::get_if<For>(&stmt);
    return nest != nullptr && is_partial(*nest, settled, true) ? zero_filled(*nest) : Block();
  }

  /// Whether a test further out has found that a tile of the nest is not full: where it is, its ends are constants by now.
  bool is_partial(const For& nest, const std::vector<Expr>& settled, bool fills = false) const {
    bool found = false;
    if (!settled.empty())
      visit(block_of(Stmt(nest)), [&](const Stmt& s) {
        const auto* loop = std::get_if<For>(&s);
        const auto full =
            loop != nullptr && (!fills || fills_packed(*loop)) ? full_of(*loop) : std::nullopt;
        found |= full && contains_all(settled, full->conditions);
      });
    return found;
  }

  Block zero_filled(const For& nest) {
    Block block = zero_padded(kernel_, nest, bounds_in_full_tile(), ranges_);
    if (!block.empty())
      visit(block_of(nest), [&](const Stmt& stmt) {
        const auto* loop = std::get_if<For>(&stmt);
        if (loop != nullptr && full_of(*loop))
          note_filled(*loop);
      });
    return block;
  }

  void note_filled(const For& loop) {
    visit(loop.body, [&](const Stmt& stmt) {
      if (const auto* store = std::get_if<Store>(&stmt))
        for (size_t d = 0; d < store->index.size(); ++d)
          if (mentions(store->index[d], loop.var))
            zero_filled_.emplace(store->buffer, d);
    });
  }

  /// Constant bounds matter to loops that become straight code, and to those that fill packed buffers;
  /// around those, a test would only send more of the iterations to the slow side.
  bool gains_from_constants(const For& loop) const {
    if (becomes_straight(loop) || fills_packed(loop))
      return true;
    bool surrounds = false;
    visit(loop.body, [&](const Stmt& stmt) {
      if (const auto* inner = std::get_if<For>(&stmt))
        surrounds |= inner->marks.unroll != 0 || inner->marks.vector_width != 0;
    });
    return loop.marks.is_isolated && !surrounds;
  }

  bool fills_packed(const For& loop) const {
    bool found = false;
    visit(loop.body, [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr || !kernel_.buffers[store->buffer].is_packed)
        return;
      for (size_t d = 0; d < store->index.size(); ++d)
        found |= filled_.contains({store->buffer, d}) && mentions(store->index[d], loop.var);
    });
    return found;
  }

  std::optional<Full> full_of(const For& loop) const {
    if (!gains_from_constants(loop))
      return std::nullopt;
    const auto lo = limit_of(loop.lo, BinaryOp::Max, BinaryOp::Le, spans_);
    const auto hi = limit_of(loop.hi, BinaryOp::Min, BinaryOp::Ge, spans_);
    if (!lo || !hi || lo->value >= hi->value || lo->holds.size() + hi->holds.size() == 0)
      return std::nullopt;
    Full full{lo->value, hi->value, lo->holds, lo->holds_everywhere};
    full.conditions.insert(full.conditions.end(), hi->holds.begin(), hi->holds.end());
    full.everywhere.insert(full.everywhere.end(), hi->holds_everywhere.begin(),
                           hi->holds_everywhere.end());
    return full;
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
    const Block full = rewrite(block_of(stmt), [&](Stmt s) {
      if (auto* loop = std::get_if<For>(&s))
        if (const auto limits = full_of(*loop);
            limits && (contains_all(conditions, limits->conditions) ||
                       contains_all(conditions, limits->everywhere))) {
          loop->lo = int_lit(limits->lo);
          loop->hi = int_lit(limits->hi);
        }
      return block_of(std::move(s));
    });
    both.then = block(full, tested);
    if (is_rectangular(stmt, conditions))
      both.otherwise = partial(std::get<For>(stmt), conditions);
    if (both.otherwise.empty())
      both.otherwise = block(block_of(stmt), tested);
    return both;
  }

  /// No loop of the tile ends where another one of it says.
  bool is_rectangular(const Stmt& stmt, const std::vector<Expr>& conditions) const {
    bool holds = true;
    visit(block_of(stmt), [&](const Stmt& s) {
      const auto* loop = std::get_if<For>(&s);
      const auto full = loop != nullptr ? full_of(*loop) : std::nullopt;
      if (full && contains_all(conditions, full->everywhere))
        holds = holds && contains_all(conditions, full->conditions);
    });
    return holds;
  }

  /// Whether the nest stores to the storage of a tile that was made here.
  bool is_tile(const For& nest) const {
    const std::set<uint32_t> stored = buffers_stored_in(nest.body);
    return std::any_of(stored.begin(), stored.end(), [&](uint32_t b) { return b >= buffers_; });
  }

  /// Sums of an instruction run over the zeros that fill packed operands up: no test is needed.
  Stmt with_full_groups(const Stmt& stmt) const {
    if (zero_filled_.empty() || std::get_if<For>(&stmt) == nullptr)
      return stmt;
    return rewrite(block_of(stmt),
                   [&](Stmt s) {
                     auto* loop = std::get_if<For>(&s);
                     if (loop == nullptr || loop->marks.instruction.empty() ||
                         !adds_zeros_beyond(*loop))
                       return block_of(std::move(s));
                     if (const auto full = full_of(*loop)) {
                       loop->lo = int_lit(full->lo);
                       loop->hi = int_lit(full->hi);
                     }
                     return block_of(std::move(s));
                   })
        .front();
  }

  /// Every update inside adds a product of cells that follow the loop and are zero beyond its edge.
  bool adds_zeros_beyond(const For& loop) const {
    bool holds = may_reduce(loop);
    visit(loop.body, [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr)
        return;
      const auto* product = scalar::as<scalar::Binary>(store->value);
      holds = holds && store->op == ReduceOp::Sum && product != nullptr &&
              product->op == BinaryOp::Mul && reads_filled(product->lhs, loop.var) &&
              reads_filled(product->rhs, loop.var);
    });
    return holds;
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
      const auto full = full_of(loop);
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
    visit(block_of(stmt), [&](const Stmt& s) {
      if (const auto* loop = std::get_if<For>(&s))
        if (const auto full = full_of(*loop); full && contains_all(conditions, full->conditions))
          tile.push_back({loop->var, full->lo, full->hi, full->conditions});
    });
    return tile;
  }

  Stmt inside(Stmt stmt, const std::vector<Expr>& settled) {
    if (auto* loop = std::get_if<For>(&stmt)) {
      ranges_.enter(*loop);
      intervals_.enter(*loop);
      loop->body = block(loop->body, settled);
      ranges_.leave();
    } else if (auto* branch = std::get_if<If>(&stmt)) {
      branch->then = block(branch->then, settled);
      branch->otherwise = block(branch->otherwise, settled);
    } else if (auto* allocate = std::get_if<Allocate>(&stmt))
      allocate->body = block(allocate->body, settled);
    return stmt;
  }

  /// Conditions of full tiles below `stmt` that can be tested before it, each once.
  std::vector<Expr> available(const Stmt& stmt, const std::vector<Expr>& settled) const {
    const VarSet inner = vars_set_in(stmt);
    std::vector<Expr> conditions;
    visit(block_of(stmt), [&](const Stmt& s) {
      const auto* loop = std::get_if<For>(&s);
      const auto full = loop != nullptr ? full_of(*loop) : std::nullopt;
      if (!full || contains_all(settled, full->conditions))
        return;
      const auto stands_before = [&](const std::vector<Expr>& list) {
        return std::none_of(list.begin(), list.end(),
                            [&](const Expr& e) { return mentions_any(e, inner); });
      };
      // Where bounds depend on other loops of the tile (triangles), the tile is full where the worst of their
      // iterations is; in tiles across the edge each iteration is then tested by itself.
      const bool is_tested_once = stands_before(full->conditions);
      if (!is_tested_once &&
          (!stands_before(full->everywhere) || contains_all(settled, full->everywhere)))
        return;
      for (const Expr& e : is_tested_once ? full->conditions : full->everywhere)
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
    visit(outer.body, [&](const Stmt& s) {
      const auto* loop = std::get_if<For>(&s);
      const auto full = loop != nullptr ? full_of(*loop) : std::nullopt;
      if (!full || contains_all(settled, full->conditions))
        return;
      // A copy is filled up as a whole where any part of it is missing.
      for (const Expr& e : fills_packed(*loop) ? full->everywhere : full->conditions)
        found |= mentions(e, outer.var);
    });
    return found;
  }

  Kernel& kernel_;
  size_t buffers_; ///< that there were before
  Filled filled_;
  Spans spans_;
  Filled
      zero_filled_; ///< dimensions of packed buffers along which partial tiles were filled up so far
  Ranges ranges_;
  Intervals intervals_;
};

} // namespace

Kernel separate_tiles(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Separator(kernel).block(body, {});
  kernel.body = rewrite(kernel.body, [](Stmt stmt) {
    if (auto* loop = std::get_if<For>(&stmt))
      loop->marks.is_isolated = false;
    return block_of(std::move(stmt));
  });
  return kernel;
}

} // namespace kawara::kernel
