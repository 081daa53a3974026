#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The two sides of a sum of products, `C[i, j] += A[i, k] * B[k, j]`: any expressions.
struct Contraction {
  scalar::Expr left, right;
};

/// What the statement adds up, where that is a product; nothing for other statements.
std::optional<Contraction> contraction_of(const Statement&);

/// The elements that a sum combines, where they are two, in any way (converted, scaled): what has
/// rows and columns of results, if its loops are those of a product.
struct SummedPair {
  const scalar::Load *first = nullptr, *second = nullptr;
};
std::optional<SummedPair> summed_pair_of(const Statement&);

} // namespace kawara::program
