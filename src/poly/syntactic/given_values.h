#pragma once

#include "poly/syntactic/domain_facts.h"
#include "scalar/expr.h"

#include <optional>
#include <vector>

namespace kawara::poly {

/// Whether the values of rows give those of iterators (each an `Iter`) in every
/// iteration of `domain`: seen from the text where rows divide one iterator
/// each (`i // 8`, `i % 8`), by counting where it has the same values whatever
/// the others are. Nothing: sets have to be asked.
std::optional<bool> gives_iterators(const std::vector<scalar::Expr>& rows,
                                    const std::vector<scalar::Expr>& iterators,
                                    const DomainFacts& domain);

/// Iterators (each an `Iter`) as functions of the values of `rows` (Iter k of the result: row k) in
/// every iteration of `domain`, as text shows it. Nothing: sets have to be asked.
///
///   i from i // 64, i % 64 // 8 and i % 8:  64 r0 + 8 r1 + r2
std::optional<std::vector<scalar::Expr>>
iterators_from_rows(const std::vector<scalar::Expr>& rows,
                    const std::vector<scalar::Expr>& iterators, const DomainFacts& domain);

/// Whether the values of rows give a value in every iteration of `domain`, seen
/// in the same way. False: sets have to be asked.
bool gives_value(const scalar::Expr& value, const std::vector<scalar::Expr>& rows,
                 const DomainFacts& domain);

} // namespace kawara::poly
