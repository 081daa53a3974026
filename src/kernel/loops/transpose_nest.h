#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// Whether the store's elements are no neighbours as the loop goes on, though it moves them.
bool is_strided(const For& lanes, const Store&);
/// Whether the store goes on to the neighbouring element as the loop goes on.
bool is_run(const For&, const Store&);

/// For a perfect nest around a store whose innermost loop is a vector loop that `is_strided`: lets
/// the nest run along the store's own neighbours, the lanes outside, but not of loops that bound
/// them; of several loops of a block of tiles, right outside of those neighbours. As many lanes
/// side by side as there are in a vector, so that what is read along the lanes is transposed in
/// registers (emit/llvm/transpose.cpp).
void transpose_nest(std::vector<For>& loops, const Store&);

} // namespace kawara::kernel
