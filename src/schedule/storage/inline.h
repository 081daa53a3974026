#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Put the value of a statement in the place of each read of it: `inline(S0)`.
///
///   before   for i:  T[i] = A[i] + 1                # S0
///            for i:  B[i] = T[i] * T[i + 1]         # S1
///   after    for i:  B[i] = (A[i] + 1) * (A[i + 1] + 1)
///
/// S0 and its loops go away; its number is not used again. The value is rounded to T's element type
/// as the store did.
///
/// A temp that holds an input under a moving window, with zeros beside it, goes away too, with both
/// statements that fill it; each read is of the input, or zero:
///
///   before   W[(n * P + y) * Q + x, r, s, c] = X[n, y + r - 1, x + s - 1, c] in X, otherwise 0
///   after    reads of W are reads of X; for tensor cores the GPU's TMA brings them (im2col)
///
/// Needs    S0 a plain assignment and the only writer of a temp that it does not read itself;
///          indices that tell which iteration wrote an element (each loop of S0 appears alone in
///          one index, plus or minus something constant).
/// Legal    when what S0 reads is not overwritten between S0 and the reader; the new reads are
///          judged like all others.
/// Refuses  everything else (K0223).
Proposed propose(const Schedule&, const Inline&, const Environment&);

} // namespace kawara::schedule
