#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// In a loop that computes on a ring of shared buffers (pipeline.h), loads what the first part of
/// each step reads before the last part of the step before computes, so that nobody waits for
/// shared memory after a barrier. The kernel's body is that of `launch`.
///
///   before   for k: { await; barrier; copies of a later step; commit;
///                     c = c + T[k%3, 0] * ...; ...; c = c + T[k%3, 15] * ... }
///   after    await; barrier; let t = T[0, 0]
///            for k:
///              copies of a later step; commit
///              c = c + t * ...
///              ...
///              let u = T[k%3, 15]
///              await; barrier
///              t = T[(k + 1)%3, 0]     (under a condition where slots may be empty at the end)
///              c = c + u * ...
///
/// Needs    a body of these parts in this order, whose computing statements set the same variables
///          as often each, in the same order, from shared buffers that the copies alone write; a
///          few loads in each part.
Kernel load_ahead(Kernel, const Launch& launch);

} // namespace kawara::kernel
