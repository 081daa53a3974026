#pragma once

#include "oracle/sketch.h"

namespace kawara::oracle {

/// A small program drawn by `seed`: 1 to 4 statements in 1 to 3 nests up to 3 deep; imperfect
/// nests, triangular and strided and descending loops, affine conditions, stencil offsets,
/// reductions, in-place updates, a temp that a producer fills; in every third, a scalar that
/// iterations write anew, with sums in it, read there or later. Integers, or (every fourth seed)
/// floats that hold whole numbers, so that every order of a sum gives the same number.
Sketch random_program(uint64_t seed);

/// The same with indices that are read: from tensors of indices, from any other brought inside, and
/// from loops over ranges that are read from one.
Sketch random_indexed_program(uint64_t seed);

/// The same, without indices that are read, with choices, operators on bits, functions, names for
/// values and parameters with a size, and integers of all types.
Sketch random_program_with_forms(uint64_t seed);

/// The same, plain, with more than half of the statements running values (`A[i] = A[i - 1] + ...`)
/// or nearly so.
Sketch random_program_with_scans(uint64_t seed);

} // namespace kawara::oracle
