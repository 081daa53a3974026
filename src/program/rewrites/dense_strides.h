#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The program with an operand of a product that is read with strides as a copy of just these
/// elements, side by side. Loops of the result that walk through them are then counted as one
/// (joined_dimensions.h), as those of a product of matrices.
///
///   before   T[m, y, x] += X[c, 3*y, 3*x] * W[m, c]          y, x < 14
///   after    X_dense[c, 14*y + x] = X[c, 3*y, 3*x]
///            T[m, y_x] += X_dense[c, y_x] * W[m, c]           y_x < 196
///
/// What it is for: convolutions by windows of one element with strides. Each element is used for
/// many filters, and vectors of what lies apart are loaded element by element, or results are
/// stored so.
///
/// Recognised is a sum of products of two elements of f32 or f64 in loops from 0 with step 1 of
/// constant length. All indices of one operand are loops, or loops times a constant, each of
/// another one and of two iterations at least; its last dimension has a stride; the result has
/// other loops, along which it is used again. Nothing where there is none, or fewer uses than make
/// up for a copy; one operand at a time.
std::optional<Program> with_dense_strides(const Program&);

} // namespace kawara::program
