#include "poly/syntactic/given_values.h"

#include "scalar/affine_sum.h"
#include "scalar/eval.h"
#include "scalar/iterators.h"

#include <algorithm>
#include <map>
#include <set>

namespace kawara::poly {

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

/// A value as a function of the values of rows (Iter k: row k): it is one of them, or what it is in
/// blocks of some size, and where in the block, can be put together from them. Empty: it cannot.
Expr put_together(const Expr& value, const std::vector<Expr>& rows, size_t steps) {
  const auto row_like = [&](const Expr& e) {
    const auto at = std::find_if(rows.begin(), rows.end(),
                                 [&](const Expr& row) { return scalar::equal(row, e); });
    return at == rows.end() ? Expr() : scalar::iter(static_cast<uint32_t>(at - rows.begin()));
  };
  if (const Expr found = row_like(value))
    return found;
  for (size_t k = 0; k < rows.size() && steps > 0; ++k) {
    const auto divisor = divisor_in(rows[k]);
    if (!divisor || *divisor < 2)
      continue;
    const Expr size = scalar::int_lit(*divisor);
    const Expr block = scalar::simplify(scalar::binary(BinaryOp::FloorDiv, value, size));
    const Expr place = scalar::simplify(scalar::binary(BinaryOp::Mod, value, size));
    Expr of_block = row_like(block), of_place = row_like(place);
    if (of_block && !of_place)
      of_place = put_together(place, rows, steps - 1);
    else if (of_place && !of_block)
      of_block = put_together(block, rows, steps - 1);
    if (of_block && of_place)
      return of_block * size + of_place;
  }
  return Expr();
}

bool is_put_together(const Expr& value, const std::vector<Expr>& rows) {
  return static_cast<bool>(put_together(value, rows, rows.size()));
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
    words.push_back(canonical(row, definitions));
  return words;
}

/// Whether a value that depends on one iterator is a function of the rows that do so, too.
bool is_given_alone(const Expr& value, uint32_t iterator, const std::vector<Expr>& rows,
                    const DomainFacts& domain) {
  std::vector<Expr> own;
  for (const Expr& row : rows)
    if (scalar::only_iterator(row) == iterator)
      own.push_back(row);
  const Expr itself = scalar::iter(iterator);
  if (is_put_together(value, own) || is_put_together(itself, own))
    return true;
  const auto range = bounds_of_iterator(domain, iterator);
  if (!range || range->second - range->first >= kMostValues)
    return false;
  std::vector<int64_t> at(domain.definitions().size(), 0);
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
bool is_plainly_given(const Expr& value, const std::vector<Expr>& rows, const DomainFacts& domain) {
  std::map<uint32_t, scalar::AffineSum> by_iterator;
  for (const auto& term : scalar::affine_sum(value).terms) {
    const auto iterator = scalar::only_iterator(term.first);
    if (!iterator)
      return false;
    by_iterator[*iterator].terms.push_back(term);
  }
  return std::all_of(by_iterator.begin(), by_iterator.end(), [&](const auto& part) {
    return is_given_alone(scalar::expr_of(part.second), part.first, rows, domain);
  });
}

/// The value of a row that has a single one: blocks of an iterator that one of them holds.
Expr only_value(const Expr& row, const DomainFacts& domain) {
  const auto* b = scalar::as<scalar::Binary>(row);
  const auto* it = b != nullptr ? scalar::as<scalar::Iter>(b->lhs) : nullptr;
  const auto range =
      it != nullptr && b->op == BinaryOp::FloorDiv ? domain.free_range(it->index) : std::nullopt;
  if (!range)
    return Expr();
  const auto value = [&](int64_t at) {
    return scalar::simplify(scalar::binary(BinaryOp::FloorDiv, scalar::int_lit(at), b->rhs));
  };
  const Expr first = value(range->first);
  return scalar::equal(first, value(range->second)) ? first : Expr();
}

} // namespace

std::optional<bool> gives_iterators(const std::vector<Expr>& rows,
                                    const std::vector<Expr>& iterators, const DomainFacts& domain) {
  const std::vector<Expr>& definitions = domain.definitions();
  const std::vector<Expr> words = in_words(rows, definitions);
  bool is_known = true;
  for (const Expr& iterator : iterators) {
    const Expr value = canonical(iterator, definitions);
    const auto* it = scalar::as<scalar::Iter>(value);
    if (it == nullptr) {
      is_known = is_known && is_plainly_given(value, words, domain);
      continue;
    }
    const auto own = rows_over(it->index, words);
    if (own && is_put_together(value, *own))
      continue;
    const auto range = own ? domain.free_range(it->index) : std::nullopt;
    const auto is_given = range ? tell_apart(*own, it->index, domain.definitions().size(),
                                             range->first, range->second)
                                : std::nullopt;
    // Two iterations that differ in this iterator and those that it defines have all other rows in
    // common.
    if (is_given == false)
      return false;
    is_known = is_known && is_given;
  }
  return is_known ? std::optional(true) : std::nullopt;
}

std::optional<std::vector<Expr>> iterators_from_rows(const std::vector<Expr>& rows,
                                                     const std::vector<Expr>& iterators,
                                                     const DomainFacts& domain) {
  const std::vector<Expr>& definitions = domain.definitions();
  const std::vector<Expr> words = in_words(rows, definitions);
  std::vector<Expr> solved(definitions.size()), values;
  for (uint32_t k = 0; k < words.size(); ++k) {
    const Expr only = only_value(words[k], domain);
    values.push_back(only ? only : scalar::iter(k));
  }
  const auto solve = [&](const Expr& e) {
    const auto* it = scalar::as<scalar::Iter>(e);
    if (it != nullptr && !solved[it->index])
      solved[it->index] = put_together(e, words, words.size());
  };
  std::vector<Expr> list;
  for (const Expr& iterator : iterators) {
    list.push_back(put_together(iterator, rows, 0));
    if (list.back())
      continue;
    const Expr value = canonical(iterator, definitions);
    scalar::visit(value, solve);
    list.back() = scalar::in_solved(value, solved);
    if (!list.back())
      return std::nullopt;
    list.back() = scalar::simplify(scalar::substitute_iters(list.back(), values));
  }
  return list;
}

bool gives_value(const Expr& value, const std::vector<Expr>& rows, const DomainFacts& domain) {
  const std::vector<Expr>& definitions = domain.definitions();
  return is_plainly_given(scalar::simplify(canonical(value, definitions)),
                          in_words(rows, definitions), domain);
}

} // namespace kawara::poly
