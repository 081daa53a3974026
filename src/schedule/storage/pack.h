#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Copy what a loop's iteration reads of a tensor into a buffer, in the order in which the loops
/// below read it: `pack(B, k.0)`; with `pack(B)` once, all of it, before everything that reads it.
///
///   before   for k.0: for i.0: for j.0: for k.1: for i.1: for j.1:  C[i, j] += A[i, k] * B[k, j]
///   after    for k.0:
///                for j.0: for k.1: for j.1:
///                    B_packed[j.0, k.1, j.1] = B[k.0*256 + k.1, j.0*12 + j.1]
///                for i.0: for j.0: for k.1: for i.1: for j.1:
///                    C[i, j] += A[i, k] * B_packed[j.0, k.1, j.1]
///
/// The buffer has one dimension for each loop below that the element depends on, outermost first,
/// so the reader walks through it from end to end; an element that several iterations read is there
/// several times. It begins on a cache line and is used again by the next iteration. The copying
/// statement gets the next free number; its loops are called like the reader's. Tile the reader
/// first, then pack.
///
/// With `type=f32` the buffer holds the elements in that type: they are converted once, where they
/// are copied. With `reader=S3` it holds what that statement reads; others go on reading the
/// tensor. Several statements that read a tensor, each in an order of its own, get a buffer each.
///
/// Needs    a tensor that one statement below the loop reads, or the one that is named, at one
///          index; none below writes it, and it is not written between its first and its last
///          reader of the program text.
/// Legal    as for `stage`: judged like all other statements.
/// Refuses  an unknown tensor (K0208) or statement (K0207), a tensor that cannot be packed there
///          (K0235), a vector, unrolled coalesced or tensorized loop (K0217), a type that does not
///          hold every value of the tensor's (K0235).
Proposed propose(const Schedule&, const Pack&, const Environment&);

} // namespace kawara::schedule
