#include "schedule/solve_iterators.h"

#include "poly/definitions.h"
#include "poly/isl/dimensions.h"
#include "scalar/affine_sum.h"
#include "scalar/eval.h"

#include <algorithm>
#include <map>
#include <set>

namespace kawara::schedule {

using scalar::BinaryOp;
using scalar::Expr;

namespace {

constexpr int64_t kMostValues = 4096;

/// The rows that run over an iterator; nothing when one of them runs over
/// something else too.
std::optional<std::vector<Expr>> rows_over(uint32_t iterator, const std::vector<Expr>& rows) {
  std::vector<Expr> found;
  for (const Expr& row : rows) {
    bool is_over = false, is_alone = true;
    scalar::visit(row, [&](const Expr& e) {
      const auto* it = scalar::as<scalar::Iter>(e);
      is_over = is_over || (it != nullptr && it->index == iterator);
      is_alone =
          is_alone && !scalar::as<scalar::Param>(e) && (it == nullptr || it->index == iterator);
    });
    if (is_over && !is_alone)
      return std::nullopt;
    if (is_over)
      found.push_back(row);
  }
  return found;
}

std::optional<int64_t> divisor_in(const Expr& row) {
  const auto* b = scalar::as<scalar::Binary>(row);
  return b != nullptr && (b->op == BinaryOp::FloorDiv || b->op == BinaryOp::Mod)
             ? scalar::constant_of(b->rhs)
             : std::nullopt;
}

/// The value is one of the rows, or what it is in blocks of some size, and
/// where in the block, can be put together from them.
bool is_put_together(const Expr& value, const std::vector<Expr>& rows, size_t steps) {
  const auto is_row = [&](const Expr& e) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Expr& row) { return scalar::equal(row, e); });
  };
  if (is_row(value))
    return true;
  if (steps == 0)
    return false;
  for (const Expr& row : rows) {
    const auto divisor = divisor_in(row);
    if (!divisor || *divisor < 2)
      continue;
    const Expr size = scalar::int_lit(*divisor);
    const Expr block = scalar::simplify(scalar::binary(BinaryOp::FloorDiv, value, size));
    const Expr place = scalar::simplify(scalar::binary(BinaryOp::Mod, value, size));
    if ((is_row(block) && is_put_together(place, rows, steps - 1)) ||
        (is_row(place) && is_put_together(block, rows, steps - 1)))
      return true;
  }
  return false;
}

/// Whether no two values from the first to the last have the same rows; nothing
/// when there are too many to try.
std::optional<bool> tell_apart(const std::vector<Expr>& rows, uint32_t iterator, size_t iterators,
                               int64_t first, int64_t last) {
  std::vector<int64_t> at(iterators, 0);
  std::set<std::vector<int64_t>> seen;
  for (int64_t x = first; x <= last; ++x) {
    if (x - first >= kMostValues)
      return std::nullopt;
    at[iterator] = x;
    std::vector<int64_t> values;
    for (const Expr& row : rows)
      values.push_back(scalar::evaluate_index(row, at, {}).value());
    if (!seen.insert(std::move(values)).second)
      return false;
  }
  return true;
}

std::vector<Expr> in_words(const std::vector<Expr>& rows, const std::vector<Expr>& definitions) {
  std::vector<Expr> words;
  for (const Expr& row : rows)
    words.push_back(poly::in_own_words(row, definitions));
  return words;
}

/// The only iterator of an expression without parameters.
std::optional<uint32_t> iterator_alone(const Expr& e) {
  std::optional<uint32_t> found;
  bool is_alone = true;
  scalar::visit(e, [&](const Expr& n) {
    const auto* it = scalar::as<scalar::Iter>(n);
    is_alone = is_alone && !scalar::as<scalar::Param>(n) &&
               (it == nullptr || !found || *found == it->index);
    if (it != nullptr)
      found = it->index;
  });
  return is_alone ? found : std::nullopt;
}

/// Whether a value that depends on one iterator is a function of the rows that do so, too.
bool is_given_alone(const Expr& value, uint32_t iterator, const std::vector<Expr>& rows,
                    const isl::set& domain) {
  std::vector<Expr> own;
  for (const Expr& row : rows)
    if (iterator_alone(row) == iterator)
      own.push_back(row);
  const Expr itself = scalar::iter(iterator);
  if (is_put_together(value, own, own.size()) || is_put_together(itself, own, own.size()))
    return true;
  const auto range = poly::bounds_of_iterator(domain, iterator);
  if (!range || range->second - range->first >= kMostValues)
    return false;
  std::vector<int64_t> at(poly::dimension_count(domain), 0);
  std::map<std::vector<int64_t>, int64_t> seen;
  for (int64_t x = range->first; x <= range->second; ++x) {
    at[iterator] = x;
    std::vector<int64_t> keys;
    for (const Expr& row : own)
      keys.push_back(scalar::evaluate_index(row, at, {}).value());
    const int64_t made = scalar::evaluate_index(value, at, {}).value();
    if (seen.try_emplace(std::move(keys), made).first->second != made)
      return false;
  }
  return true;
}

/// The same of a sum whose terms depend on one iterator each.
bool is_plainly_given(const Expr& value, const std::vector<Expr>& rows, const isl::set& domain) {
  std::map<uint32_t, scalar::AffineSum> by_iterator;
  for (const auto& term : scalar::affine_sum(value).terms) {
    const auto iterator = iterator_alone(term.first);
    if (!iterator)
      return false;
    by_iterator[*iterator].terms.push_back(term);
  }
  return std::all_of(by_iterator.begin(), by_iterator.end(), [&](const auto& part) {
    return is_given_alone(scalar::expr_of(part.second), part.first, rows, domain);
  });
}

} // namespace

std::vector<Expr> iterators_from_keys(const std::vector<Expr>& keys, size_t iterators) {
  std::vector<Expr> solved(iterators);
  for (uint32_t k = 0; k < keys.size(); ++k) {
    const scalar::AffineSum sum = scalar::affine_sum(keys[k]);
    if (sum.terms.size() != 1 || (sum.terms[0].second != 1 && sum.terms[0].second != -1))
      continue;
    const auto* it = scalar::as<scalar::Iter>(sum.terms[0].first);
    if (!it || solved[it->index])
      continue;
    const Expr rest = scalar::iter(k) - scalar::int_lit(sum.constant);
    solved[it->index] =
        scalar::simplify(sum.terms[0].second > 0 ? rest : scalar::int_lit(0) - rest);
  }
  return solved;
}

Expr in_solved(const Expr& e, const std::vector<Expr>& solved) {
  bool is_known = true;
  scalar::visit(e, [&](const Expr& node) {
    const auto* it = scalar::as<scalar::Iter>(node);
    is_known = is_known && (!it || solved[it->index]);
  });
  return is_known ? scalar::simplify(scalar::substitute_iters(e, solved)) : Expr{};
}

std::optional<bool> gives_iterators(const std::vector<Expr>& rows,
                                    const std::vector<Expr>& iterators, const isl::set& domain) {
  const std::vector<Expr> definitions = poly::definitions_of(domain);
  const std::vector<Expr> words = in_words(rows, definitions);
  bool is_known = true;
  for (const Expr& iterator : iterators) {
    const Expr value = poly::in_own_words(iterator, definitions);
    const auto* it = scalar::as<scalar::Iter>(value);
    if (it == nullptr) {
      is_known = is_known && is_plainly_given(value, words, domain);
      continue;
    }
    const auto own = rows_over(it->index, words);
    if (own && is_put_together(value, *own, own->size()))
      continue;
    const auto range = own ? poly::free_range(domain, it->index) : std::nullopt;
    const auto is_given = range ? tell_apart(*own, it->index, poly::dimension_count(domain),
                                             range->first, range->second)
                                : std::nullopt;
    // Two iterations that differ in this iterator and those that it defines have all other rows in common.
    if (is_given == false)
      return false;
    is_known = is_known && is_given;
  }
  return is_known ? std::optional(true) : std::nullopt;
}

bool gives_value(const Expr& value, const std::vector<Expr>& rows, const isl::set& domain) {
  const std::vector<Expr> definitions = poly::definitions_of(domain);
  return is_plainly_given(scalar::simplify(poly::in_own_words(value, definitions)),
                          in_words(rows, definitions), domain);
}

} // namespace kawara::schedule
