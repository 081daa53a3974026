#pragma once

#include "poly/domain_facts.h"
#include "scalar/expr.h"

#include <isl/cpp.h>
#include <optional>
#include <vector>

namespace kawara::schedule {

/// Iterators as functions of the values of `keys` (Iter k of the result: key k); empty where the
/// keys do not tell: a key tells an iterator when it is that iterator, or its negative, plus what
/// has no iterators.
std::vector<scalar::Expr> iterators_from_keys(const std::vector<scalar::Expr>& keys,
                                              size_t iterators);

/// `e` with its iterators replaced by what they were solved to; empty when it needs one that was
/// not.
scalar::Expr in_solved(const scalar::Expr& e, const std::vector<scalar::Expr>& solved);

/// Whether the iterator is part of the expression.
bool mentions_iterator(const scalar::Expr&, uint32_t iterator);

/// Whether the values of rows give those of iterators (each an `Iter`) in every
/// iteration of `domain`: seen from the text where rows divide one iterator
/// each (`i // 8`, `i % 8`), by counting where it has the same values whatever
/// the others are. Nothing: sets have to be asked.
std::optional<bool> gives_iterators(const std::vector<scalar::Expr>& rows,
                                    const std::vector<scalar::Expr>& iterators,
                                    const poly::DomainFacts& domain);

/// Iterators (each an `Iter`) as functions of the values of `rows` (Iter k of the result: row k) in
/// every iteration of `domain`, as text shows it. Nothing: sets have to be asked.
///
///   i from i // 64, i % 64 // 8 and i % 8:  64 r0 + 8 r1 + r2
std::optional<std::vector<scalar::Expr>>
iterators_from_rows(const std::vector<scalar::Expr>& rows,
                    const std::vector<scalar::Expr>& iterators, const poly::DomainFacts& domain);

/// Whether the values of rows give a value in every iteration of `domain`, seen
/// in the same way. False: sets have to be asked.
bool gives_value(const scalar::Expr& value, const std::vector<scalar::Expr>& rows,
                 const poly::DomainFacts& domain);

} // namespace kawara::schedule
