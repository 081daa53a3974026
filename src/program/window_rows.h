#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// A program whose convolution walks through one long row.
struct FlatConvolution {
  Program program;
  uint32_t weights = 0; ///< tensor whose dimensions are in another order now
  /// By new dimension, which one it was.
  std::vector<size_t> order;
};

/// The program with its first convolution as a sum of products of matrices that are shifted, not copied: rows of the image
/// lie behind each other with zeros between them, so that a step down is a step of `width` to the right.
///
///   before   T[m, y, x] += image[c, y + r, x + s] * weights[m, c, r, s]
///   after    flat[c, q] = image[c, q // width, q % width], or 0 outside
///            T[m, q] += flat[c, q + width * r + s] * weights[r, s, m, c]     what T is read for: T[m, width * y + x]
///
/// With a stride of n the image is taken apart first, into cells whose places have the same remainders: flat[r % n, s % n, c, ...].
/// Cells between the rows are computed, and not used. Rows of `flat` and of T have whole groups of 8 cells.
///
/// Needs    an update with + of a temp, alone in its outermost loop but for the start of its cells; both operands
///          loads, weights a constant input with an index of single loops, lengths known. The window may have one
///          row or one column. Nothing where there is no such convolution of at least that many channels.
std::optional<FlatConvolution> with_flat_convolution(const Program&, int64_t least_channels);

} // namespace kawara::program
