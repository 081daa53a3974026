#pragma once

#include "poly/isl/pieces.h"
#include "poly/scop.h"

#include <isl/cpp.h>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace kawara::poly {

/// What the constraints of a domain say, read once and as numbers. Questions remember their
/// answers: directives ask the same ones of the same statements again and again.
class DomainFacts {
public:
  DomainFacts(
      isl::set domain); // NOLINT(google-explicit-constructor): a set that is read for one question

  const isl::set& domain() const { return domain_; }
  /// Nothing for a set in several pieces.
  const std::optional<std::vector<PlainConstraint>>& constraints() const { return constraints_; }

  /// By iterator: the same value as a function of other iterators that have none, as constraints
  /// show it. Without expression: it has none. Directives make such domains when they put loops
  /// around what a statement needs.
  ///
  ///   { S[b, i] : 0 <= i <= 511 and 32 b <= i <= 32 b + 31 }      b: i // 32
  ///   { S[h, i, x] : x = h and ... }                               x: h
  ///
  /// May miss some. Rows and indices that say the same in other words then look alike
  /// (`canonical`).
  const std::vector<scalar::Expr>& definitions() const { return definitions_; }

  /// The first and the last value of an iterator that takes all values between them whatever the
  /// other iterators are, those apart that it defines, and has the same ones for all parameters, as
  /// constraints show it. May miss some.
  std::optional<std::pair<int64_t, int64_t>> free_range(uint32_t iterator) const;
  /// The iteration in which iterators without definition have their first values, `is_last` (by
  /// iterator) their last ones; nothing where there is no such iteration, for any parameters, or
  /// constraints do not show it.
  std::optional<std::vector<int64_t>> corner(const std::vector<bool>& is_last) const;
  /// There are iterations at all.
  bool has_points() const;

private:
  std::optional<std::pair<int64_t, int64_t>> found_range(uint32_t iterator) const;

  isl::set domain_;
  std::optional<std::vector<PlainConstraint>> constraints_;
  std::vector<scalar::Expr> definitions_;
  /// By iterator, as far as it was asked.
  mutable std::map<uint32_t, std::optional<std::pair<int64_t, int64_t>>> free_ranges_;
  mutable std::optional<bool> has_points_;
};

/// Of a statement's domain: copies of the statement share what has been found out.
std::shared_ptr<const DomainFacts> domain_facts_of(const ScopStatement&);

/// Values that an iterator has, or some around them, as constraints on it alone show it.
std::optional<std::pair<int64_t, int64_t>> bounds_of_iterator(const DomainFacts&,
                                                              uint32_t iterator);

/// An iterator with those that constraints tie it to, and all values that they have together,
/// whatever the other iterators are.
struct IteratorGroup {
  std::vector<bool> has; ///< by iterator
  std::vector<std::vector<int64_t>>
      points; ///< values by iterator, 0 for the others; in lexicographic order
};
/// Nothing where parameters or divisions are involved, or there are more than `most` points.
std::optional<IteratorGroup> iterator_group_of(const DomainFacts&, uint32_t iterator, int64_t most);

/// Whether two functions have different values in some iteration, of a few that are tried; false
/// where none shows it.
bool differ_somewhere(const scalar::Expr&, const scalar::Expr&, const DomainFacts&);

/// The expression with every iterator that has a definition replaced by it.
scalar::Expr canonical(const scalar::Expr&, const std::vector<scalar::Expr>& definitions);

} // namespace kawara::poly
