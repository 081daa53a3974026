#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Choose the order of a tensor's elements in memory: `layout(B, d1, d0)`, `layout(B, d1/16, d0,
/// d1%16)`, `layout(B, d1, d0, type=f32)`.
///
///   before   B: f32[K, N]                    ... B[k, j] ...
///   after    B: f32[(N + 15)//16, K, 16]     ... B[j // 16, k, j % 16] ...
///
/// The parts are the new dimensions, outermost first: `d1` is dimension 1 (counted from 0) as it
/// is, `d1/16` the number of a block of 16 along it, `d1%16` the place in the block. A loop that
/// walks down a column of B goes through neighbouring elements after `layout(B, d1, d0)`; one that
/// takes 16 columns at a time finds them in one piece after `layout(B, d1/16, d0, d1%16)`.
///
/// A temp is stored so from its first write. Inputs and outputs are the caller's: they are copied
/// into a temp in the new order before everything, or out of it after everything; a constant input
/// once for all calls. The copying statements get the next free numbers; their loops are called d0,
/// d1, ...
///
/// With `type=f32` the elements are kept in that type: those that several iterations use are
/// converted once instead of in each of them. What is stored in a temp is still rounded to the
/// temp's own type, so no result changes.
///
/// Needs    parts in which every dimension occurs once, whole or as blocks and places of the same
///          block.
/// Legal    always: no two elements share a place.
/// Refuses  an unknown tensor (K0208), parts that leave something out, a tensor that cannot move, a
///          type that does not hold every value of the tensor's, one for a tensor that statements
///          add up in, or a tensor that an instruction touches (K0257).
Proposed propose(const Schedule&, const Layout&, const Environment&);

} // namespace kawara::schedule
