#include "validate/elements.h"

#include "scalar/affine_sum.h"
#include "scalar/expand/polynomial.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace kawara::validate {

using scalar::Expr;
using scalar::int_lit;

Expr with_dimension(const Expr& e, uint32_t from, uint32_t to) {
  return from == to ? e : scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* iter = scalar::as<scalar::Iter>(n);
    return iter != nullptr && iter->index == from ? scalar::iter(to) : Expr();
  });
}

bool uses_dimensions(const std::vector<Expr>& list, uint32_t from, uint32_t end) {
  bool found = false;
  for (const Expr& e : list)
    scalar::visit(e, [&](const Expr& n) {
      const auto* iter = scalar::as<scalar::Iter>(n);
      found = found || (iter != nullptr && iter->index >= from && iter->index < end);
    });
  return found;
}

Expr in_lane(const Expr& e, const Expr& lane) {
  if (e.type().lanes == 1)
    return e;
  if (const auto* ramp = scalar::as<scalar::Ramp>(e))
    return ramp->base + lane * int_lit(ramp->stride);
  if (const auto* runs = scalar::as<scalar::Runs>(e))
    return runs->base +
           scalar::binary(scalar::BinaryOp::FloorDiv, lane, int_lit(runs->length)) *
               int_lit(runs->stride) +
           scalar::binary(scalar::BinaryOp::Mod, lane, int_lit(runs->length));
  if (const auto* all = scalar::as<scalar::Broadcast>(e))
    return all->arg.type().lanes == 1
               ? all->arg
               : in_lane(all->arg, scalar::binary(scalar::BinaryOp::Mod, lane,
                                                  int_lit(all->arg.type().lanes)));
  if (const auto* both = scalar::as<scalar::Binary>(e)) {
    const Expr lhs = in_lane(both->lhs, lane), rhs = in_lane(both->rhs, lane);
    return lhs && rhs ? scalar::binary(both->op, lhs, rhs) : Expr();
  }
  return {};
}

namespace {

bool is_product(const Expr& e) {
  const auto* both = scalar::as<scalar::Binary>(e);
  return both != nullptr && both->op == scalar::BinaryOp::Mul;
}

} // namespace

Expr tidy(const Expr& e) {
  if (const auto* ramp = scalar::as<scalar::Ramp>(e))
    return scalar::ramp(tidy(ramp->base), ramp->stride, e.type().lanes);
  return e.type() == scalar::kIndex ? scalar::expr_of(scalar::affine_sum(e)) : scalar::simplify(e);
}

Expr difference_of(const Expr& a, const Expr& b) {
  const scalar::AffineSum sum = scalar::difference(scalar::affine_sum(a), scalar::affine_sum(b));
  if (std::none_of(sum.terms.begin(), sum.terms.end(),
                   [](const auto& term) { return is_product(term.first); }))
    return scalar::expr_of(sum);
  Expr all = int_lit(0);
  for (const scalar::Monomial& m : scalar::polynomial_of(a) - scalar::polynomial_of(b)) {
    Expr product = int_lit(std::llround(m.coefficient));
    for (const Expr& atom : m.atoms)
      product = product * atom;
    all = all + product;
  }
  return tidy(all);
}

std::vector<Expr> differences_by_stride(const Expr& a, const Expr& b) {
  const scalar::AffineSum sum = scalar::difference(scalar::affine_sum(a), scalar::affine_sum(b));
  if (std::none_of(sum.terms.begin(), sum.terms.end(),
                   [](const auto& term) { return is_product(term.first); }))
    return {scalar::expr_of(sum)};
  const auto is_size = [](const Expr& atom) {
    bool has_dimension = false;
    scalar::visit(atom, [&](const Expr& n) {
      has_dimension = has_dimension || scalar::as<scalar::Iter>(n) != nullptr;
    });
    return !has_dimension;
  };
  std::vector<std::pair<Expr, Expr>> groups; // a product of sizes, and what it is multiplied by
  for (const scalar::Monomial& m : scalar::polynomial_of(a) - scalar::polynomial_of(b)) {
    Expr stride = int_lit(1), rest = int_lit(std::llround(m.coefficient));
    for (const Expr& atom : m.atoms) {
      Expr& part = is_size(atom) ? stride : rest;
      part = part * atom;
    }
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return scalar::equal(scalar::polynomial_of(group.first), scalar::polynomial_of(stride));
    });
    if (known == groups.end())
      groups.emplace_back(stride, rest);
    else
      known->second = known->second + rest;
  }
  std::vector<Expr> result;
  for (const auto& [stride, rest] : groups)
    if (const Expr simple = tidy(rest); scalar::constant_of(simple) != 0)
      result.push_back(simple);
  return result.empty() ? std::vector<Expr>{int_lit(0)} : result;
}

bool are_zero(const std::vector<Expr>& differences) {
  return std::all_of(differences.begin(), differences.end(),
                     [](const Expr& e) { return scalar::constant_of(e) == 0; });
}

size_t common_loops(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  const auto apart = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(apart.first - a.begin());
}

bool are_same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) {
    return scalar::constant_of(difference_of(x, y)) == 0;
  });
}

bool is_sum(const Expr& e) {
  bool divides = false;
  scalar::visit(e, [&](const Expr& n) {
    const auto* both = scalar::as<scalar::Binary>(n);
    divides = divides || (both != nullptr && (both->op == scalar::BinaryOp::FloorDiv ||
                                              both->op == scalar::BinaryOp::Mod));
  });
  return !divides;
}

namespace {

/// What one condition says of one dimension.
struct Said {
  uint32_t dimension = 0;
  std::optional<int64_t> least, most;
  int64_t step = 1;
};
/// Of `dimension op rhs`; what sizes decide is as wide as they allow.
std::optional<Said> said_by_comparison(uint32_t dimension, scalar::BinaryOp op, const Expr& rhs) {
  using scalar::BinaryOp;
  const scalar::Bounds bounds = scalar::bounds_of(rhs);
  Said said{dimension, std::nullopt, std::nullopt};
  if ((op == BinaryOp::Ge || op == BinaryOp::Gt || op == BinaryOp::Eq) && bounds.low)
    said.least = *bounds.low + (op == BinaryOp::Gt ? 1 : 0);
  if ((op == BinaryOp::Le || op == BinaryOp::Lt || op == BinaryOp::Eq) && bounds.high)
    said.most = *bounds.high - (op == BinaryOp::Lt ? 1 : 0);
  return said.least || said.most ? std::optional(said) : std::nullopt;
}

std::optional<Said> said_by(const Expr& condition) {
  using scalar::BinaryOp;
  if (!condition)
    return std::nullopt;
  if (const auto* no = scalar::as<scalar::Unary>(condition)) {
    const auto* b = scalar::as<scalar::Binary>(no->arg);
    const auto* dimension = b != nullptr ? scalar::as<scalar::Iter>(b->lhs) : nullptr;
    if (no->op != scalar::UnaryOp::Not || dimension == nullptr)
      return std::nullopt;
    const std::map<BinaryOp, BinaryOp> opposites = {{BinaryOp::Lt, BinaryOp::Ge},
                                                    {BinaryOp::Le, BinaryOp::Gt},
                                                    {BinaryOp::Gt, BinaryOp::Le},
                                                    {BinaryOp::Ge, BinaryOp::Lt}};
    const auto op = opposites.find(b->op);
    return op == opposites.end() ? std::nullopt
                                 : said_by_comparison(dimension->index, op->second, b->rhs);
  }
  const auto* b = scalar::as<scalar::Binary>(condition);
  if (b == nullptr)
    return std::nullopt;
  if (const auto* dimension = scalar::as<scalar::Iter>(b->lhs))
    return said_by_comparison(dimension->index, b->op, b->rhs);
  // (i - first) % step == 0, with a first value that is a multiple of the step, or the other way
  // round.
  const auto* rest = b->op == BinaryOp::Eq ? scalar::as<scalar::Binary>(b->lhs) : nullptr;
  if (rest == nullptr || rest->op != BinaryOp::Mod)
    return std::nullopt;
  const auto step = scalar::constant_of(rest->rhs);
  const scalar::AffineSum sum = scalar::affine_sum(rest->lhs);
  const auto* dimension =
      sum.terms.empty() ? nullptr : scalar::as<scalar::Iter>(sum.terms.front().first);
  if (!step || dimension == nullptr || sum.terms.front().second != 1 || sum.constant % *step != 0 ||
      std::any_of(sum.terms.begin() + 1, sum.terms.end(),
                  [&](const auto& term) { return term.second % *step != 0; }))
    return std::nullopt;
  return Said{dimension->index, std::nullopt, std::nullopt, *step};
}

/// Comparisons of one dimension with numbers, all of which hold: what is in `not (i >= 1 and i <=
/// 56)`.
std::optional<Said> said_by_numbers(const Expr& condition) {
  const auto* b = scalar::as<scalar::Binary>(condition);
  if (b == nullptr)
    return std::nullopt;
  if (b->op != scalar::BinaryOp::And)
    return scalar::constant_of(b->rhs) && scalar::as<scalar::Iter>(b->lhs) != nullptr
               ? said_by(condition)
               : std::nullopt;
  auto first = said_by_numbers(b->lhs);
  const auto second = said_by_numbers(b->rhs);
  if (!first || !second || first->dimension != second->dimension)
    return std::nullopt;
  if (second->least)
    first->least = std::max(first->least.value_or(*second->least), *second->least);
  if (second->most)
    first->most = std::min(first->most.value_or(*second->most), *second->most);
  return first;
}

/// What is left of ranges at whose ends these values are not taken.
void exclude(const std::vector<Said>& never, DimensionRanges& ranges) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (const Said& values : never) {
      const auto range = ranges.find(values.dimension);
      if (range == ranges.end() || range->second.first > range->second.second)
        continue;
      auto& [least, most] = range->second;
      const bool has_least =
          values.least.value_or(least) <= least && values.most.value_or(least) >= least;
      const bool has_most =
          values.least.value_or(most) <= most && values.most.value_or(most) >= most;
      if (has_least)
        least = std::min(most, values.most.value_or(most)) + 1;
      if (has_most && !has_least)
        most = values.least.value_or(least) - 1;
      is_changed = is_changed || has_least || has_most;
    }
  }
}

} // namespace

DimensionRanges ranges_in(const std::vector<Expr>& conditions) {
  std::map<uint32_t, Said> all;
  std::vector<Said> never;
  for (const Expr& condition : conditions) {
    const auto said = said_by(condition);
    if (!said) {
      const auto* no = condition ? scalar::as<scalar::Unary>(condition) : nullptr;
      if (no != nullptr && no->op == scalar::UnaryOp::Not)
        if (const auto values = said_by_numbers(no->arg))
          never.push_back(*values);
      continue;
    }
    Said& known = all[said->dimension];
    if (said->least)
      known.least = std::max(known.least.value_or(*said->least), *said->least);
    if (said->most)
      known.most = std::min(known.most.value_or(*said->most), *said->most);
    known.step = std::max(known.step, said->step);
  }
  DimensionRanges ranges;
  for (const auto& [dimension, known] : all)
    if (known.least && known.most)
      ranges[dimension] = {*known.least, *known.least >= 0 ? *known.most - *known.most % known.step
                                                           : *known.most};
  exclude(never, ranges);
  return ranges;
}

std::map<uint32_t, int64_t> steps_in(const std::vector<Expr>& conditions) {
  std::map<uint32_t, int64_t> steps;
  for (const Expr& condition : conditions)
    if (const auto said = said_by(condition); said && said->step > 1)
      steps[said->dimension] = std::max(steps[said->dimension], said->step);
  return steps;
}

namespace {

/// Whether the sum is in 0..divisor-1.
bool is_below(const scalar::AffineSum& sum, int64_t divisor, const DimensionRanges& ranges) {
  int64_t least = sum.constant, most = sum.constant;
  for (const auto& [term, factor] : sum.terms) {
    const auto* dimension = scalar::as<scalar::Iter>(term);
    const auto known = dimension != nullptr ? ranges.find(dimension->index) : ranges.end();
    std::pair<int64_t, int64_t> range;
    if (known != ranges.end())
      range = known->second;
    else if (const scalar::Bounds b = scalar::bounds_of(term); b.low && b.high)
      range = {*b.low, *b.high};
    else
      return false;
    least += factor * (factor > 0 ? range.first : range.second);
    most += factor * (factor > 0 ? range.second : range.first);
  }
  return least >= 0 && most < divisor;
}

} // namespace

Expr folded(const Expr& e, const DimensionRanges& ranges) {
  return tidy(scalar::rewrite(e, [&](const Expr& n) -> Expr {
    const auto* b = scalar::as<scalar::Binary>(n);
    const bool divides = b != nullptr && b->op == scalar::BinaryOp::FloorDiv;
    if (b == nullptr || n.type() != scalar::kIndex || (!divides && b->op != scalar::BinaryOp::Mod))
      return {};
    const auto divisor = scalar::constant_of(b->rhs);
    if (!divisor || *divisor <= 0)
      return {};
    scalar::AffineSum whole, rest;
    const scalar::AffineSum all = scalar::affine_sum(b->lhs);
    for (const auto& [term, factor] : all.terms)
      if (factor % *divisor == 0)
        whole.terms.emplace_back(term, factor / *divisor);
      else
        rest.terms.emplace_back(term, factor);
    rest.constant = (all.constant % *divisor + *divisor) % *divisor;
    whole.constant = (all.constant - rest.constant) / *divisor;
    if (!is_below(rest, *divisor, ranges))
      return {};
    return scalar::expr_of(divides ? whole : rest);
  }));
}

} // namespace kawara::validate
