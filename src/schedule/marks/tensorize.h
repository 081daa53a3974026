#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Run a loop and the loops inside it as instructions that do several iterations at once:
/// `tensorize(j.1, neon.sdot)`.
///
///   before   for j.1 in 0..11: for k.1 in 0..3:
///              C[i, j] += i32(A_packed[i, k]) * i32(B_packed[j, k])
///   after    C[i, 0..3] = sdot(...); C[i, 4..7] = sdot(...); C[i, 8..11] = sdot(...)
///
/// An instruction is described by a small program over its operands
/// (docs/lessons/08-instructions.md has the list). It may stand for the loops when both mean the
/// same: the update computes the instruction's value from loads of its element types, and the
/// element that each load reads is the operand's as a relation of the loops: it moves along the
/// axes of the operand alone, to neighbouring elements in the order of the lanes. Results may lie
/// apart: they are then kept in a buffer of the loops' shape and added up in place after the
/// reduction. Names and spelling do not matter. Loops may be several times as long as the axes they
/// are mapped to. On a machine without the instruction the loops stay plain loops.
///
/// Rows of tiles (`amx...`) may lie at any one distance, as elements of an image do, and may be
/// fewer than 16: the registers are configured for what there is.
///
/// A collective instruction (`wgmma...`) is run by 128 threads of a GPU together. Its operands may
/// lie in any order with constant distances, because they go through shared memory in boxes, and
/// loops may have any length: boxes are filled up with zeros at the edges of tensors. Bind the
/// loops around to blocks, none to threads, and `pipeline` the loop over steps of the reduction.
///
/// Needs    loops one inside the other, as many as the instruction has axes, around one update;
///          their lengths constant multiples of the axes' (partial tiles excepted). Pack operands
///          first.
/// Legal    where the numerics contract allows what the instruction does to rounding; integers
///          always.
/// Refuses  an unknown instruction (K0209), loops that compute something else (K0242), a contract
///          that forbids it (K0227), a parallel, vector, unrolled or coalesced loop (K0217).
Proposed propose(const Schedule&, const Tensorize&, const Environment&);

} // namespace kawara::schedule
