#pragma once

#include "poly/scop.h"

#include <optional>
#include <utility>

namespace kawara::poly {

/// Comparisons of rows of two statements as relations on the whole of their spaces: the pairs they
/// are met with lie within the domains already, and comparisons without domains are much cheaper.
class RowPairs {
public:
  RowPairs(const Scop& scop, StmtId source, StmtId sink);

  isl::map less(const Expr& source, const Expr& sink) const;
  isl::map greater(const Expr& source, const Expr& sink) const;
  isl::map equal(const Expr& source, const Expr& sink) const;
  /// The least and the greatest distance from source to sink over all pairs and parameter values,
  /// each missing where there is no end to it; nothing where the rows have cases.
  using Distance = std::pair<std::optional<int64_t>, std::optional<int64_t>>;
  std::optional<Distance> distance(const isl::map& pairs, const Expr& source,
                                   const Expr& sink) const;

private:
  enum class Comparison : uint8_t { Less, Greater, Equal };
  isl::map compared(Comparison, const Expr& source, const Expr& sink) const;
  /// Both rows on pairs as points; nothing where one has cases.
  std::optional<std::pair<isl::aff, isl::aff>> functions(const Expr& source,
                                                         const Expr& sink) const;

  const Scop& scop_;
  StmtId source_, sink_;
  isl::space space_;
};

} // namespace kawara::poly
