#include "kernel/analysis/ranges.h"

#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::AffineSum;
using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int kBudget = 64;

/// `sum` with the term at `position` replaced by factor * value.
Expr replaced(const AffineSum& sum, size_t position, int64_t factor, const Expr& value) {
  AffineSum rest = sum;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(position));
  return scalar::simplify(scalar::expr_of(rest) + value * int_lit(factor));
}

} // namespace

std::vector<Expr> operands_of(const Expr& e, BinaryOp op) {
  const auto* n = as<Binary>(e);
  if (n == nullptr || n->op != op)
    return {e};
  std::vector<Expr> all = operands_of(n->lhs, op);
  for (Expr& more : operands_of(n->rhs, op))
    all.push_back(std::move(more));
  return all;
}

std::optional<int64_t> trip_count(const For& loop) {
  const auto distance = scalar::constant_of(scalar::simplify(loop.hi - loop.lo));
  if (!distance)
    return std::nullopt;
  return *distance <= 0 ? 0 : (*distance + loop.step - 1) / loop.step;
}

Expr covered_distance(const For& loop, int64_t stride) {
  Expr distance = scalar::simplify(loop.hi - loop.lo + int_lit(loop.step - 1));
  if (!Ranges().is_at_least(distance, 0))
    distance = scalar::binary(BinaryOp::Max, distance, int_lit(0));
  return scalar::binary(BinaryOp::FloorDiv, distance, int_lit(stride)) * int_lit(stride);
}

std::optional<int64_t> Ranges::low(const Expr& e) const {
  int budget = kBudget;
  return low(e, budget);
}

/// The best (or, when all must hold, the worst) lower bound over the options for a term.
std::optional<int64_t> Ranges::low_with(const Expr& whole, const Expr& term, int64_t factor,
                                        const std::vector<Expr>& options, bool needs_all,
                                        int& budget) const {
  const AffineSum sum = scalar::affine_sum(whole);
  const auto found = std::find_if(sum.terms.begin(), sum.terms.end(),
                                  [&](const auto& t) { return scalar::equal(t.first, term); });
  const auto position = static_cast<size_t>(found - sum.terms.begin());
  std::optional<int64_t> answer;
  for (const Expr& option : options) {
    const auto one = low(replaced(sum, position, factor, option), budget);
    if (!one && needs_all)
      return std::nullopt;
    if (one)
      answer = !answer ? *one : needs_all ? std::min(*answer, *one) : std::max(*answer, *one);
  }
  return answer;
}

std::optional<int64_t> Ranges::low(const Expr& e, int& budget) const {
  if (--budget < 0)
    return std::nullopt;
  const AffineSum sum = scalar::affine_sum(e);
  // Minima, maxima and divisions first: what they hide may cancel against the rest.
  for (size_t t = 0; t < sum.terms.size(); ++t) {
    const auto& [term, c] = sum.terms[t];
    const auto* n = as<Binary>(term);
    if (n == nullptr)
      continue;
    if (n->op == BinaryOp::Min || n->op == BinaryOp::Max)
      return low_with(e, term, c, operands_of(term, n->op), (n->op == BinaryOp::Min) == (c > 0),
                      budget);
    const auto d = scalar::constant_of(n->rhs);
    if (n->op == BinaryOp::FloorDiv && d && *d > 0 && c % *d == 0) {
      const Expr bound = c > 0 ? n->lhs - int_lit(*d - 1) : n->lhs;
      return low(replaced(sum, t, c / *d, bound), budget);
    }
    if (n->op == BinaryOp::FloorDiv && d && *d > 0) {
      // The dividend by itself: (y % 8 and the like) // 8 is 0.
      const auto end =
          c > 0 ? low(n->lhs, budget) : low(scalar::simplify(int_lit(0) - n->lhs), budget);
      if (!end)
        return std::nullopt;
      const Expr extreme =
          scalar::binary(BinaryOp::FloorDiv, int_lit(c > 0 ? *end : -*end), int_lit(*d));
      return low(replaced(sum, t, c, scalar::simplify(extreme)), budget);
    }
    if (n->op == BinaryOp::Mod && d && *d > 0)
      return low(replaced(sum, t, c, int_lit(c > 0 ? 0 : *d - 1)), budget);
  }
  for (size_t l = loops_.size(); l-- > 0;)
    for (const auto& [term, c] : sum.terms) {
      const auto* v = as<scalar::Var>(term);
      if (v == nullptr || v->id != loops_[l].var)
        continue;
      std::vector<Expr> options;
      if (c > 0)
        options = operands_of(loops_[l].lo, BinaryOp::Max);
      else
        for (const Expr& hi : operands_of(loops_[l].hi, BinaryOp::Min))
          options.push_back(hi - int_lit(1));
      return low_with(e, term, c, options, false, budget);
    }
  for (const auto& [term, c] : sum.terms)
    if (c < 0 || as<scalar::Param>(term) == nullptr)
      return scalar::bounds_of(e).low;
  return sum.constant;
}

bool Ranges::is_at_least(const Expr& e, int64_t bound) const {
  const auto found = low(e);
  if (found && *found >= bound)
    return true;
  // What is left of e without something that is not negative.
  for (const Branch& branch : branches_)
    for (const Expr& fact : branch.facts) {
      const auto rest = low(scalar::simplify(e - fact));
      if (rest && *rest >= bound)
        return true;
    }
  // A loop around this place runs.
  for (const Bounded& loop : loops_) {
    const Expr extent = scalar::simplify(loop.hi - loop.lo);
    if (scalar::constant_of(extent))
      continue;
    const auto rest = low(scalar::simplify(e - extent + int_lit(1)));
    if (rest && *rest >= bound)
      return true;
  }
  return false;
}

/// Facts stay true only of what nobody assigns: counters of loops, and parameters.
bool Ranges::counts_loops(const Expr& e) const {
  bool counts = true;
  scalar::visit(e, [&](const Expr& n) {
    if (const auto* v = as<scalar::Var>(n))
      counts = counts && std::any_of(loops_.begin(), loops_.end(),
                                     [&](const Bounded& loop) { return loop.var == v->id; });
    counts = counts && as<scalar::Load>(n) == nullptr;
  });
  return counts;
}

void Ranges::add_facts(const Expr& condition, Branch& branch) const {
  const auto* n = as<Binary>(condition);
  if (n == nullptr)
    return;
  if (n->op == BinaryOp::And) {
    add_facts(n->lhs, branch);
    add_facts(n->rhs, branch);
    return;
  }
  if (n->lhs.type() != scalar::kIndex || !counts_loops(condition))
    return;
  if (n->op == BinaryOp::Ge || n->op == BinaryOp::Gt)
    branch.facts.push_back(n->lhs - n->rhs - int_lit(n->op == BinaryOp::Gt ? 1 : 0));
  if (n->op == BinaryOp::Le || n->op == BinaryOp::Lt)
    branch.facts.push_back(n->rhs - n->lhs - int_lit(n->op == BinaryOp::Lt ? 1 : 0));
}

void Ranges::enter(const If& branch) {
  Branch inside{!is_otherwise_next_, {}};
  is_otherwise_next_ = false;
  if (inside.is_then)
    add_facts(branch.cond, inside);
  branches_.push_back(std::move(inside));
}

void Ranges::leave(const If&) {
  is_otherwise_next_ = branches_.back().is_then;
  branches_.pop_back();
}

bool Ranges::runs_at_least_once(const For& loop) const {
  return is_at_least(scalar::simplify(loop.hi - loop.lo), 1);
}

} // namespace kawara::kernel
