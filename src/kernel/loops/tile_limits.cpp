#include "kernel/loops/tile_limits.h"

#include "kernel/analysis/ranges.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// The smallest value of a sum over all values of those variables, or the largest. What is not a
/// multiple of one of them stays as it is.
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

/// The constant among `operands` and what must hold for it to be the bound; none without a
/// constant.
struct Limit {
  int64_t value = 0;
  std::vector<Expr> holds;
  std::vector<Expr> holds_everywhere; ///< in all iterations of the loops with spans
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

} // namespace

std::optional<Full> full_loop(const For& loop, const Spans& around) {
  const auto lo = limit_of(loop.lo, BinaryOp::Max, BinaryOp::Le, around);
  const auto hi = limit_of(loop.hi, BinaryOp::Min, BinaryOp::Ge, around);
  if (!lo || !hi || lo->value >= hi->value || lo->holds.size() + hi->holds.size() == 0)
    return std::nullopt;
  Full full{lo->value, hi->value, lo->holds, lo->holds_everywhere};
  full.conditions.insert(full.conditions.end(), hi->holds.begin(), hi->holds.end());
  full.everywhere.insert(full.everywhere.end(), hi->holds_everywhere.begin(),
                         hi->holds_everywhere.end());
  return full;
}

std::optional<std::pair<int64_t, int64_t>> span_of(const For& loop) {
  const auto lo = limit_of(loop.lo, BinaryOp::Max, BinaryOp::Le, {});
  const auto hi = limit_of(loop.hi, BinaryOp::Min, BinaryOp::Ge, {});
  return lo && hi && lo->value < hi->value ? std::optional(std::pair(lo->value, hi->value - 1))
                                           : std::nullopt;
}

} // namespace kawara::kernel
