#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The program with a sum of products of i8 by i8 as one of u8 by i8, which is what some machines
/// multiply: one operand is copied with 128 added to each element, and what that adds to the sum is
/// taken off where the sum begins.
///
///   before   C[i, j] = 0
///            for k:  C[i, j] += A[i, k] * B[k, j]
///   after    A_offset[d0, d1] = A[d0, d1] + 128            as u8
///            B_offset[d0, d1] = B[d0, d1]     so that nothing else reads what the product reads
///            for k:  C_offset[j] += B[k, j]
///            C[i, j] = C_offset[j] * -128
///            for k:  C[i, j] += A_offset[i, k] * B_offset[k, j]
///
/// Integers wrap, so the same bits come out. The operand that stays is a constant one if there is
/// one, so that its sums are computed once, and its copy is marked constant; of two that are not,
/// the right one, where the result has 64 or more elements for each of its sums.
///
/// Recognised is an update of i32 with + in loops from 0 with step 1 of constant length, alone in
/// its outermost loop but for the statement that sets its elements to zero. Nothing when there is
/// none, or when the result has more than `most_uses` elements for each sum: for machines that
/// multiply many rows by many columns of i8 at once.
std::optional<Program> with_offset_products(const Program&, int64_t most_uses = INT64_MAX);

} // namespace kawara::program
