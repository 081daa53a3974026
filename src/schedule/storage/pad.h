#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Lengthen a dimension of a tensor by elements that nothing uses, or by zeros: `pad(T, d1, 16)`,
/// `pad(T, d1, to=8)`.
///
///   before   T: f32[1024, 1024]      T[i, j] and T[i + 1, j] are 4096 bytes apart
///   after    T: f32[1024, 1040]      4160 bytes: other sets of the cache
///
/// Elements of a column that lie a power of two apart fall into few sets of a cache and push each
/// other out long before it is full. Rows that are a little longer spread them over all sets.
///
/// With `to=8` the dimension is as long as the next multiple of 8, and a statement of its own
/// writes zeros to all elements of the tensor that nothing else writes. Those elements may be read;
/// `extend` runs loops over them.
///
/// A temp, or the buffer of a `stage` or `pack`, is stored so. Inputs and outputs are the caller's:
/// they are copied into a padded temp before everything, or out of it after everything, as by
/// `layout`.
///
/// Needs    a dimension of the tensor, counted from 0 (of a staged buffer: without those that count
///          copies).
/// Legal    always: no two elements share a place, and zeros go where nothing is.
/// Refuses  an unknown tensor (K0208), a dimension that is not there or a tensor that cannot move
///          (K0257), a number below 1 (K0212).
Proposed propose(const Schedule&, const Pad&, const Environment&);

} // namespace kawara::schedule
