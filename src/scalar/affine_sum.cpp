#include "scalar/affine_sum.h"

#include "scalar/eval.h"

#include <numeric>

namespace kawara::scalar {
namespace {

int64_t calculate(BinaryOp op, int64_t a, int64_t b) {
  return apply(op, Elem::I64, int_value(a), int_value(b))->i;
}

void add_term(AffineSum& sum, const Expr& term, int64_t factor) {
  for (auto at = sum.terms.begin(); at != sum.terms.end(); ++at) {
    if (!equal(at->first, term))
      continue;
    at->second = calculate(BinaryOp::Add, at->second, factor);
    if (at->second == 0)
      sum.terms.erase(at);
    return;
  }
  if (factor != 0)
    sum.terms.emplace_back(term, factor);
}

void collect(AffineSum& sum, const Expr& e, int64_t factor) {
  if (const auto c = constant_of(e)) {
    sum.constant = calculate(BinaryOp::Add, sum.constant, calculate(BinaryOp::Mul, *c, factor));
    return;
  }
  if (const auto* n = as<Unary>(e); n != nullptr && n->op == UnaryOp::Neg)
    return collect(sum, n->arg, calculate(BinaryOp::Sub, 0, factor));
  if (const auto* n = as<Binary>(e)) {
    if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub) {
      collect(sum, n->lhs, factor);
      const int64_t minus = calculate(BinaryOp::Sub, 0, factor);
      return collect(sum, n->rhs, n->op == BinaryOp::Add ? factor : minus);
    }
    if (n->op == BinaryOp::Mul) {
      if (const auto c = constant_of(n->rhs))
        return collect(sum, n->lhs, calculate(BinaryOp::Mul, factor, *c));
      if (const auto c = constant_of(n->lhs))
        return collect(sum, n->rhs, calculate(BinaryOp::Mul, factor, *c));
    }
  }
  add_term(sum, e, factor);
}

Expr scaled(const Expr& term, int64_t factor) {
  return factor == 1 ? term : term * int_lit(factor);
}

/// Parts of the sum that are multiples of `divisor`, divided by it, and what remains (with a
/// constant in 0..divisor-1).
std::pair<AffineSum, AffineSum> split(const AffineSum& sum, int64_t divisor) {
  AffineSum quotient, rest;
  for (const auto& [term, factor] : sum.terms) {
    if (factor % divisor == 0)
      quotient.terms.emplace_back(term, factor / divisor);
    else
      rest.terms.emplace_back(term, factor);
  }
  quotient.constant = calculate(BinaryOp::FloorDiv, sum.constant, divisor);
  rest.constant = calculate(BinaryOp::Mod, sum.constant, divisor);
  return {quotient, rest};
}

int64_t common_factor(const AffineSum& sum, int64_t divisor) {
  int64_t common = divisor;
  for (const auto& [term, factor] : sum.terms)
    common = std::gcd(common, factor);
  return common;
}

bool is_within(const Bounds& b, int64_t low, int64_t high) {
  return b.low && b.high && *b.low >= low && *b.high <= high;
}

std::optional<int64_t> plus(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum))
    return std::nullopt;
  return sum;
}

std::optional<int64_t> times(std::optional<int64_t> a, int64_t factor) {
  int64_t product = 0;
  if (!a || __builtin_mul_overflow(*a, factor, &product))
    return std::nullopt;
  return product;
}

Bounds bounds_of_sum(const AffineSum& sum) {
  Bounds total{sum.constant, sum.constant};
  for (const auto& [term, factor] : sum.terms) {
    const Bounds b = bounds_of(term);
    const auto& low = factor > 0 ? b.low : b.high;
    const auto& high = factor > 0 ? b.high : b.low;
    total = {plus(total.low, times(low, factor)), plus(total.high, times(high, factor))};
  }
  return total;
}

std::optional<int64_t> larger(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
}

std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
}

/// The known one of two bounds, or the tighter when both are known.
std::optional<int64_t> either(std::optional<int64_t> a, std::optional<int64_t> b, bool take_max) {
  if (!a || !b)
    return a ? a : b;
  return take_max ? std::max(*a, *b) : std::min(*a, *b);
}

Bounds bounds_of_binary(const Binary& n) {
  const auto c = constant_of(n.rhs);
  const Bounds a = bounds_of(n.lhs);
  if (n.op == BinaryOp::Mod && c && *c > 0)
    return is_within(a, 0, *c - 1) ? a : Bounds{0, *c - 1};
  if (n.op == BinaryOp::FloorDiv && c && *c > 0) {
    const auto down = [&](const std::optional<int64_t>& v) {
      return v ? std::optional(calculate(BinaryOp::FloorDiv, *v, *c)) : std::nullopt;
    };
    return {down(a.low), down(a.high)};
  }
  const Bounds b = bounds_of(n.rhs);
  if (n.op == BinaryOp::Min)
    return {smaller(a.low, b.low), either(a.high, b.high, false)};
  if (n.op == BinaryOp::Max)
    return {either(a.low, b.low, true), larger(a.high, b.high)};
  return {};
}

} // namespace

AffineSum affine_sum(const Expr& e) {
  AffineSum sum;
  collect(sum, e, 1);
  return sum;
}

Expr expr_of(const AffineSum& sum) {
  Expr total;
  for (const auto& [term, factor] : sum.terms)
    if (factor > 0)
      total = total ? total + scaled(term, factor) : scaled(term, factor);
  if (!total && sum.constant != 0 && !sum.terms.empty())
    total = int_lit(sum.constant);
  const bool constant_used = total && constant_of(total);
  for (const auto& [term, factor] : sum.terms) {
    if (factor > 0)
      continue;
    if (total && factor != INT64_MIN)
      total = total - scaled(term, -factor);
    else if (total)
      total = total + scaled(term, factor);
    else
      total = factor == -1 ? unary(UnaryOp::Neg, term) : scaled(term, factor);
  }
  if (!total)
    return int_lit(sum.constant);
  if (constant_used || sum.constant == 0)
    return total;
  return sum.constant < 0 && sum.constant != INT64_MIN ? total - int_lit(-sum.constant)
                                                       : total + int_lit(sum.constant);
}

AffineSum difference(const AffineSum& a, const AffineSum& b) {
  AffineSum result = a;
  for (const auto& [term, factor] : b.terms)
    add_term(result, term, calculate(BinaryOp::Sub, 0, factor));
  result.constant = calculate(BinaryOp::Sub, a.constant, b.constant);
  return result;
}

Expr divide_sum(const AffineSum& sum, int64_t divisor) {
  auto [quotient, rest] = split(sum, divisor);
  if (is_within(bounds_of_sum(rest), 0, divisor - 1))
    return expr_of(quotient);
  const int64_t common = common_factor(rest, divisor);
  for (auto& [term, factor] : rest.terms)
    factor /= common;
  rest.constant = calculate(BinaryOp::FloorDiv, rest.constant, common);
  const Expr inner = expr_of(rest);
  add_term(quotient,
           divisor == common ? inner : binary(BinaryOp::FloorDiv, inner, int_lit(divisor / common)),
           1);
  return expr_of(quotient);
}

Expr reduce_sum(const AffineSum& sum, int64_t divisor) {
  const AffineSum rest = split(sum, divisor).second;
  const Expr inner = expr_of(rest);
  if (is_within(bounds_of_sum(rest), 0, divisor - 1))
    return inner;
  return binary(BinaryOp::Mod, inner, int_lit(divisor));
}

Bounds bounds_of(const Expr& e) {
  if (const auto c = constant_of(e))
    return {*c, *c};
  if (e.type() != kIndex)
    return {};
  if (const auto* n = as<Binary>(e)) {
    const bool is_sum = n->op == BinaryOp::Add || n->op == BinaryOp::Sub || n->op == BinaryOp::Mul;
    if (!is_sum)
      return bounds_of_binary(*n);
    const AffineSum sum = affine_sum(e);
    const bool is_itself = sum.terms.size() == 1 && equal(sum.terms[0].first, e);
    return is_itself ? Bounds{} : bounds_of_sum(sum);
  }
  return {};
}

} // namespace kawara::scalar
