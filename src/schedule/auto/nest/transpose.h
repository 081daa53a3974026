#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// A copy that reads neighbours along one loop and writes them along another, in blocks as wide as
/// a cache line where they are written, so that no line is written twice, and several lines long
/// where they are read, made of squares that are transposed in registers. Blocks follow each other
/// along what is written; along what is read where a vector is a line, so that each line is loaded
/// once and the hardware sees some long rows. What instructions on tiles
/// read is copied so from rows of any length.
///
///   Y[i, j] = X[j, i] of f32: split(j, 16); split(i, 64); split(i.1, 4);
///   reorder(i.0, j.0, i.1.0, i.1.1, j.1); unroll(i.1.1); vectorize(j.1, 16)
void transposes_in_squares(const Site&, const Offer&);

} // namespace kawara::schedule
