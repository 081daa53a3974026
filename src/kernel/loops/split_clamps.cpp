#include "kernel/loops/split_clamps.h"

#include "kernel/analysis/ranges.h"
#include "kernel/loops/tile_limits.h"
#include "kernel/loops/unroll.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::AffineSum;
using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Iterations at a border that are worth no vectors of their own.
constexpr int64_t kShortBorder = 8;

/// Spans of the loops of a block at any depth; of loops that share a variable, both.
Spans spans_in(const Block& block) {
  Spans spans;
  VarSet unknown;
  visit(block, [&](const For& loop) {
    const auto span = span_of(loop);
    if (!span) {
      unknown.insert(loop.var);
      return;
    }
    const auto [known, is_new] = spans.emplace(loop.var, *span);
    known->second = {std::min(known->second.first, span->first),
                     std::max(known->second.second, span->second)};
  });
  for (const uint32_t var : unknown)
    spans.erase(var);
  return spans;
}

/// Looks for clamps in a block whose value hangs on the variable of a loop around it, and says
/// when they do nothing.
class ClampSearch {
public:
  /// `lanes`: variables of which one must stand in a clamp, or it costs nothing.
  ClampSearch(const Block& block, uint32_t var, VarSet lanes)
      : var_(var), lanes_(std::move(lanes)), set_inside_(vars_set_in(block)),
        spans_(spans_in(block)) {
    set_inside_.insert(var);
    inner_ = map_exprs(block, [&](const Expr& root) { return without(root); });
  }

  /// Smallest values over the loops of the block, as affine sums; the block has no clamps where
  /// none of them is negative.
  const std::vector<AffineSum>& margins() const { return margins_; }
  const Block& inner() const { return inner_; }

private:
  Expr without(const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) {
      if (const auto* choice = as<scalar::Select>(e))
        return chosen(*choice);
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr)
        return Expr();
      // Clamps only as an index: elsewhere lanes need no neighbours.
      std::vector<Expr> index;
      for (const Expr& at : load->index)
        index.push_back(unclamped(at));
      return scalar::load(load->tensor, std::move(index), e.type());
    });
  }

  Expr unclamped(const Expr& index) {
    return scalar::rewrite(index, [&](const Expr& e) {
      const auto* clamp = as<Binary>(e);
      if (clamp == nullptr || e.type() != scalar::kIndex ||
          (clamp->op != BinaryOp::Min && clamp->op != BinaryOp::Max))
        return Expr();
      const bool is_left = mentions_any(clamp->lhs, lanes_);
      const Expr& kept = is_left ? clamp->lhs : clamp->rhs;
      const Expr& limit = is_left ? clamp->rhs : clamp->lhs;
      const Expr room = clamp->op == BinaryOp::Max ? kept - limit : limit - kept;
      return hold_apart(kept, limit, room) ? kept : Expr();
    });
  }

  /// The branch of a choice that reads memory, or the choice with what is left to ask; empty when
  /// the choice has nothing to do with lanes.
  Expr chosen(const scalar::Select& choice) {
    const bool is_then = has_load(choice.then);
    if (!is_then && !has_load(choice.otherwise))
      return Expr();
    std::vector<Expr> left;
    const size_t before = questions_;
    ask(choice.cond, is_then, left);
    if (questions_ == before)
      return Expr();
    const Expr& taken = is_then ? choice.then : choice.otherwise;
    if (left.empty())
      return taken;
    Expr cond = left.front();
    const BinaryOp op = is_then ? BinaryOp::And : BinaryOp::Or;
    for (size_t k = 1; k < left.size(); ++k)
      cond = scalar::binary(op, cond, left[k]);
    return scalar::select(cond, choice.then, choice.otherwise);
  }

  /// Notes when all parts of a condition have this value; `left`: the parts that stay.
  void ask(const Expr& cond, bool value, std::vector<Expr>& left) {
    const auto* n = as<Binary>(cond);
    if (n != nullptr && n->op == (value ? BinaryOp::And : BinaryOp::Or)) {
      ask(n->lhs, value, left);
      ask(n->rhs, value, left);
      return;
    }
    const auto room = n != nullptr && n->lhs.type() == scalar::kIndex
                          ? room_of(n->op, n->lhs, n->rhs, value)
                          : std::nullopt;
    const bool is_left = room && mentions_any(n->lhs, lanes_);
    if (room && hold_apart(is_left ? n->lhs : n->rhs, is_left ? n->rhs : n->lhs, *room))
      ++questions_;
    else
      left.push_back(cond);
  }

  /// What is not negative where the comparison has the value.
  static std::optional<Expr> room_of(BinaryOp op, const Expr& lhs, const Expr& rhs, bool value) {
    switch (op) {
    case BinaryOp::Lt:
      return value ? rhs - lhs - int_lit(1) : lhs - rhs;
    case BinaryOp::Le:
      return value ? rhs - lhs : lhs - rhs - int_lit(1);
    case BinaryOp::Gt:
      return value ? lhs - rhs - int_lit(1) : rhs - lhs;
    case BinaryOp::Ge:
      return value ? lhs - rhs : rhs - lhs - int_lit(1);
    default:
      return std::nullopt;
    }
  }

  /// Notes that there is room between `moving`, which hangs on the lanes, and `limit`, which does
  /// not change in here; whether that can be said.
  bool hold_apart(const Expr& moving, const Expr& limit, const Expr& room) {
    if (!mentions_any(moving, lanes_) || mentions_any(limit, set_inside_) || has_load(room))
      return false;
    const auto margin = smallest(scalar::affine_sum(scalar::simplify(room)));
    if (margin)
      note(*margin);
    return margin.has_value();
  }

  /// Over the loops inside. Nothing where a term is no variable, or one of an unknown span.
  std::optional<AffineSum> smallest(const AffineSum& room) const {
    AffineSum margin{{}, room.constant};
    bool moves = false;
    for (const auto& [term, factor] : room.terms) {
      const auto* v = as<scalar::Var>(term);
      if (v == nullptr && mentions_any(term, set_inside_))
        return std::nullopt;
      const auto span = v != nullptr && v->id != var_ ? spans_.find(v->id) : spans_.end();
      if (span != spans_.end())
        margin.constant += factor * (factor > 0 ? span->second.first : span->second.second);
      else if (v != nullptr && v->id != var_ && set_inside_.contains(v->id))
        return std::nullopt;
      else
        margin.terms.emplace_back(term, factor);
      moves = moves || (v != nullptr && v->id == var_);
    }
    return moves ? std::optional(margin) : std::nullopt;
  }

  /// Of margins that differ by a constant, the smallest.
  void note(const AffineSum& margin) {
    for (AffineSum& known : margins_) {
      const AffineSum apart = scalar::difference(margin, known);
      if (!apart.terms.empty())
        continue;
      known.constant += std::min<int64_t>(apart.constant, 0);
      return;
    }
    margins_.push_back(margin);
  }

  uint32_t var_;
  VarSet lanes_, set_inside_;
  Spans spans_;
  std::vector<AffineSum> margins_;
  size_t questions_ = 0; ///< parts of conditions that were noted
  Block inner_;
};

/// The values of the variable for which no margin is negative: from the largest of `first` on, up
/// to before the smallest of `end`.
struct Inner {
  std::vector<Expr> first, end;
};
Inner inner_of(const std::vector<AffineSum>& margins, uint32_t var) {
  Inner inner;
  for (const AffineSum& margin : margins) {
    AffineSum rest{{}, margin.constant};
    int64_t step = 0;
    for (const auto& [term, factor] : margin.terms) {
      const auto* v = as<scalar::Var>(term);
      if (v != nullptr && v->id == var)
        step = factor;
      else
        rest.terms.emplace_back(term, factor);
    }
    // step * var + rest >= 0
    const Expr whole = scalar::divide_sum(rest, std::abs(step));
    if (step > 0)
      inner.first.push_back(scalar::simplify(int_lit(0) - whole));
    else
      inner.end.push_back(scalar::simplify(whole + int_lit(1)));
  }
  return inner;
}

Expr bounded(BinaryOp op, Expr start, const std::vector<Expr>& operands) {
  for (const Expr& e : operands)
    start = scalar::binary(op, start, e);
  return scalar::simplify(start);
}

/// A few iterations one by one.
For border(For loop, const std::vector<Expr>& ends, const Expr& from) {
  const bool is_short = std::all_of(ends.begin(), ends.end(), [&](const Expr& end) {
    const auto apart = scalar::constant_of(scalar::simplify(end - from));
    return apart && std::abs(*apart) <= kShortBorder;
  });
  if (is_short) {
    loop.marks.vector_width = 0;
    loop.marks.unroll = 0;
  }
  return loop;
}

/// A tile's loop, where the loop around it says which tiles are at a border.
bool is_of_tile(const For& loop, const std::vector<AffineSum>& margins) {
  const auto is_around = [&](const auto& term) {
    const auto* v = as<scalar::Var>(term.first);
    return v != nullptr && v->id != loop.var;
  };
  return span_of(loop) && std::any_of(margins.begin(), margins.end(), [&](const AffineSum& margin) {
           return std::any_of(margin.terms.begin(), margin.terms.end(), is_around);
         });
}

/// One loop, or a block of up to three with the ends of the inner one before them.
Block split(Kernel& kernel, const For& loop) {
  const ClampSearch clamps(loop.body, loop.var, {loop.var});
  const auto trips = trip_count(loop);
  if (clamps.margins().empty() || (trips && *trips <= 2 * loop.marks.vector_width) ||
      3 * count_of(loop.body) > kMaxCopies || is_of_tile(loop, clamps.margins()))
    return block_of(loop);
  const Inner inner = inner_of(clamps.margins(), loop.var);
  const auto named = [&](const char* suffix) {
    return add_variable(kernel, kernel.variables[loop.var].name + suffix, scalar::kIndex);
  };
  Block result;
  For middle = loop;
  middle.body = clamps.inner();
  if (!inner.first.empty()) {
    const uint32_t first = named("_inner");
    const Expr begin = bounded(BinaryOp::Max, loop.lo, inner.first);
    result.emplace_back(Define{first, scalar::binary(BinaryOp::Min, begin, loop.hi)});
    middle.lo = scalar::var(first);
    For before = border(loop, inner.first, loop.lo);
    before.hi = middle.lo;
    result.emplace_back(std::move(before));
  }
  if (inner.end.empty()) {
    result.emplace_back(std::move(middle));
    return result;
  }
  const uint32_t end = named("_border");
  const Expr last = bounded(BinaryOp::Min, loop.hi, inner.end);
  result.emplace_back(Define{end, scalar::binary(BinaryOp::Max, last, middle.lo)});
  middle.hi = scalar::var(end);
  For after = border(loop, inner.end, loop.hi);
  after.lo = middle.hi;
  result.emplace_back(std::move(middle));
  result.emplace_back(std::move(after));
  return result;
}

/// Variables of the vectorised loops of a block whose bounds are constants.
VarSet lanes_in(const Block& block) {
  VarSet lanes;
  visit(block, [&](const For& loop) {
    if (loop.marks.vector_width != 0 && span_of(loop))
      lanes.insert(loop.var);
  });
  return lanes;
}

/// A tile's statements, behind the question whether it is at a border.
Block asked_once(const Block& tile, uint32_t var) {
  const VarSet lanes = lanes_in(tile);
  if (lanes.empty() || 2 * count_of(tile) > kMaxCopies)
    return tile;
  const ClampSearch clamps(tile, var, lanes);
  if (clamps.margins().empty())
    return tile;
  Expr is_inner;
  for (const AffineSum& margin : clamps.margins()) {
    const Expr holds = scalar::binary(BinaryOp::Ge, scalar::expr_of(margin), int_lit(0));
    is_inner = is_inner ? scalar::binary(BinaryOp::And, is_inner, holds) : holds;
  }
  return block_of(If{is_inner, clamps.inner(), tile});
}

/// Tiles of a loop: its body or, where whole tiles are apart already, what those run.
Block with_tiles_asked(Block body, uint32_t var) {
  if (auto* whole = body.size() == 1 ? std::get_if<If>(&body.front()) : nullptr) {
    whole->then = with_tiles_asked(std::move(whole->then), var);
    return body;
  }
  return asked_once(body, var);
}

} // namespace

Kernel split_clamps(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = rewrite(body, [&](For loop) {
    if (loop.marks.vector_width != 0)
      return loop.step == 1 && !loop.marks.is_parallel && loop.marks.instruction.empty()
                 ? split(kernel, loop)
                 : block_of(std::move(loop));
    loop.body = with_tiles_asked(std::move(loop.body), loop.var);
    return block_of(std::move(loop));
  });
  return kernel;
}

} // namespace kawara::kernel
