#pragma once

#include "kernel/gpu/phases.h"

namespace kawara::kernel {

/// Gives every thread its own copy of shared elements whose values threads that differ in thread.x
/// alone agree on: what one of them computed for all, each computes for itself.
///
///   before   if thread_x == 0:              after   m_copy[0] = max(m_copy[0], total)
///              m[0] = max(m[0], total)              ... exp(x - m_copy[0]) ...
///            ... exp(x - m[0]) ...
///
/// Threads need not wait for such an element, and what is computed from it in two phases can be
/// kept in between. Only elements whose index names no loop, so that copies can be registers.
PhaseNodes privatized(Kernel&, const Launch&, PhaseNodes);

} // namespace kawara::kernel
