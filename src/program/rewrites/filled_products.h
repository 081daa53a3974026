#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// Lengths that loops of a product are filled up to multiples of.
struct FillUnits {
  int64_t result = 64, reduction = 16;
};

/// The program with a sum of products of f32 over loops of any length as one over loops of whole
/// tiles: operands are copied, with zeros behind their ends, and elements of the result beyond its
/// own are thrown away.
///
///   before   C[i, j] = 0                                  i < 1000, j < 1001
///            for k < 777:  C[i, j] += A[i, k] * B[k, j]
///   after    A_filled[d0, d1] = select(d0 < 1000 and d1 < 777, A[min(d0, 999), min(d1, 776)], 0)
///            B_filled[d0, d1] = ...
///            C_filled[i, j] = 0                           i < 1024, j < 1024
///            for k < 784:  C_filled[i, j] += A_filled[i, k] * B_filled[k, j]
///            C[i, j] = C_filled[i, j]
///
/// Zeros are added to sums, which changes no sum but the sign of one that is zero. A result that is
/// a temp grows itself.
///
/// Recognised is an update with + in loops from 0 with step 1 of constant length, alone in its
/// outermost loop but for the statement that sets its elements to zero, whose operands and result
/// are indexed by loops as they are. Two loops of the result move one operand each and, as the
/// reduction, are at least one unit long. Nothing when there is none that is not whole already, or
/// under `exact`.
std::optional<Program> with_filled_products(const Program&, const FillUnits&);

} // namespace kawara::program
