#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"

namespace kawara::kernel {

/// Loops that carry the name of an instruction run as instructions.
///
///   before   for j in range(0, 4):  # neon.sdot
///              for k in range(0, 4):  # neon.sdot
///                C[i, j] += i32(A_packed[k]) * i32(B_packed[j, k])
///   after    C[i, ramp(0, 1, 4)] =
///              neon.sdot(broadcast(A_packed[ramp(0, 1, 4)], 16), B_packed[ramp(0, 1, 16)],
///                        C[i, ramp(0, 1, 4)])
///
/// Rows of tiles (target::Intrinsic::is_tile) are loaded unpacked, and may be fewer than a tile
/// has:
///
///   after    C_tile[ramp(0, 1, 224)] = amx.tdpbssd(X[runs(64*w, 64, 128, 896)],
///                                                  W_packed[ramp(0, 1, 1024)], C_tile[...])
///
/// Loops several times as long as the instruction's become several instructions, without a loop.
/// What the directive proved about relations is checked again on the indices here, because
/// directives that came later may have changed them: the value is the instruction's, every
/// operand's element depends on its own axes only, and the elements are neighbours in the order of
/// the lanes. Loops for which that does not hold, whose lengths are not known to fit, or whose
/// instruction the machine does not have, stay as plain loops.
Kernel tensorize(Kernel, const target::Cpu&);

} // namespace kawara::kernel
