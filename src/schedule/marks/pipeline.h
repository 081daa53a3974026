#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Copy what later iterations of a loop need while earlier ones compute: `pipeline(k.0, 3)`.
///
///   before   for k.0: { A_staged = A[...];  barrier;  C += A_staged * ...;  barrier }
///   after    copies for k.0 = 0 and 1 start
///            for k.0: { wait for this one's copy; barrier; start the copy for k.0 + 2; C += ... }
///
/// The staged buffers exist `stages` times, and copies run beside the computation; one barrier an
/// iteration is left. Kernels for a GPU do this (asynchronous copies); others run the loop as it
/// is. Around a collective instruction (`tensorize`) the operands pass through a ring of so many
/// boxes, which a warp of its own fills.
///
/// Needs    a loop of a block, around its thread loops, at which tensors are staged, or directly
///          around a collective instruction.
/// Legal    always: nothing that is staged is written in the loop, or `stage` would have been
///          refused.
/// Refuses  fewer than 2 or more than 16 stages (K0212), a loop at which nothing is staged (K0704),
///          a parallel, vector, unrolled or bound loop (K0217).
Proposed propose(const Schedule&, const Pipeline&, const Environment&);

} // namespace kawara::schedule
