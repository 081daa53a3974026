#pragma once

#include "target/intrinsic.h"

namespace kawara::target {

/// Products of a tile of 64 rows by the 128 threads of a warpgroup on tensor cores:
/// `wgmma.m64nNk16.bf16` and others, of several widths N. Products of elements are exact. Sums are
/// rounded in an order of their own; those of 8-bit floats also keep fewer bits than f32 has
/// between the elements of one instruction. Operands of f32 are read as tf32, the upper 19 bits.
std::vector<Intrinsic> warpgroup_products();

} // namespace kawara::target
