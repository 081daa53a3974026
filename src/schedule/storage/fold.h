#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Keep of a temp only the rows that are still needed, in a ring: `fold(T, y)`, `fold(T, y, 4)`.
///
///   before   for y: { T[y] = f(y);          B[y - 2] = T[y - 2] + T[y - 1] + T[y] }      T: f32[H]
///   after    for y: { T[y % 3] = f(y);      B[y - 2] = T[(y-2) % 3] + T[(y-1) % 3] + T[y % 3] }
///                                                                                        T: f32[3]
///
/// The dimension of T along which the loop walks gets as many elements as there are values in use
/// at any time, or as many as the directive says, and every index there is taken modulo that
/// number. A sliding window over rows of width W then takes O(W) memory and stays in the cache.
///
/// The number is computed from the live ranges: for every read, the rows that are written after the
/// value that is read and before the read. It must not grow with the sizes.
///
/// Needs    a temp with a dimension along which the loop walks. Ask for it when the loops are in
///          the order in which they shall run: the ring is as long as that order needs, and is part
///          of the program from then on.
/// Legal    when no element is written again before its value was read for the last time; what
///          comes after is judged with the ring, so that threads cannot share one.
/// Refuses  an unknown tensor (K0208), a tensor that cannot be folded or whose ring would be too
///          short (K0255), a size below 1 (K0212).
Proposed propose(const Schedule&, const Fold&, const Environment&);

} // namespace kawara::schedule
