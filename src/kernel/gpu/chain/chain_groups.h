#pragma once

#include "kernel/kernel.h"
#include "target/gpu.h"

namespace kawara::kernel {

/// Turns launches whose blocks run a chain of products (chain_form.h) into launches of warpgroups.
/// Launches that are no such chain, or that warpgroups cannot run, stay as they are. Runs after
/// warpgroups.h, which takes launches of a single product.
///
///   before   launch blocks(32, 64) threads(1):
///              for k_0: { s = Q[...] * K[k_0, ...]; m max= s; p = exp(s - m); ...;
///                         acc += p * V[k_0, ...] }
///              out[...] = acc[...] / total[...]
///   after    launch blocks(132) threads(4, 8, 9):
///              if thread_z < 8:                         two warpgroups, each 64 rows
///                for tile in range(block_x, 2048, 132):
///                  for k_0:  wgmma s = Q_tiles * K_tiles        operands from shared memory
///                            wgmma acc += p * V_tiles           of the step before; p in registers
///                            m, p, total                        meanwhile, in registers
///                  bulk out = acc / total
///              else, on one thread:
///                for tile: { bulk Q_tiles = Q; for k_0: bulk K_tiles = K, V_tiles = V }
///
/// Each thread has its elements of every buffer of the block in registers (fragment.h);
/// combinations along rows are among four threads. The last product of a step runs while the
/// arithmetic of the next step does, where that arithmetic touches neither its result nor its
/// operand until it has to. Columns that a step does not have count as what changes nothing: the
/// neutral element of a combination, zero in a product.
///
/// Needs    operands as in warpgroups.h; where columns of a product's reduction end in the middle
///          of a tensor (a row that sees only the positions before it), `numerics fast`: zeros are
///          multiplied with what lies beyond, and an infinity there gives NaN.
Kernel chain_groups(Kernel, const target::Gpu&);

} // namespace kawara::kernel
