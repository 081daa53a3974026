#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Indices that a loop reads from data are checked eight at a time, before the iterations that use
/// them: one comparison and one jump where there were eight.
///
///   before   for i in range(0, N):             for i in range(0, N // 8 * 8, 8):
///              h[bin[i]] += w[i]                 let bin_inside: i64x8 = bin[ramp(i, 1, 8)]
///                                                h[bin[i]] += w[i]; ... h[bin[i + 7]] += w[i + 7]
///   after                                      for i in range(N // 8 * 8, N): h[bin[i]] += w[i]
///
/// For innermost sequential loops that go up by one and are short; the indices lie side by side,
/// are needed in every iteration, and nothing in the loop stores them. When one of the eight is
/// outside, none of their iterations runs.
Kernel check_together(Kernel);

} // namespace kawara::kernel
