#pragma once

#include "kernel/kernel.h"
#include "schedule/schedule.h"

namespace kawara::kernel {

/// The loops that run a schedule's order, by isl's AST generator.
///
///   order    i.0 { i.1 { S0 } }   rows of S0: i // 32, i % 32
///   kernel   for i_0 in range(0, (N + 31) // 32):
///              for i_1 in range(0, min(32, N - i_0*32)):
///                A[i_0*32 + i_1] = ...
///
/// Marks of the order's loops stand on the kernel's loops; a loop that isl splits carries them on
/// every part, one that runs once disappears. A vector loop that isl gives a step (a condition `j %
/// 2 == 0`) keeps its width only where the judge proves lanes that far apart; else it has fewer
/// lanes or none. Outputs that the scop says must start at zero are zeroed first. Inputs, outputs
/// and inouts become arguments in declaration order, temps workspaces.
///
/// For a CPU, loops bound to a GPU's axes run one iteration after the other. For a GPU they keep
/// their axes (launches.h carries them out), and copies of temps that an iteration of blocks or
/// threads has to itself are shared or private where their size is constant.
Kernel kernel_from_schedule(const schedule::Schedule&, bool is_for_gpu = false);

} // namespace kawara::kernel
