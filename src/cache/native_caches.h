#pragma once

#include "cache/hierarchy.h"
#include "cache/ir.h"

namespace kawara::cache {

/// Writes `touch(state, line, reference, store) -> i32` of the L1, and what it needs: functions of
/// the caches that `Hierarchy::compiled` counts, each with its ways, sets and policy in the code.
/// Its value is not 0 where more changed than the order of lines. `near` is the same but for the
/// cache of one set beside the L1, which it leaves out: the line is there. `is_inline`: both become
/// part of the code that touches.
void add_cache_functions(Ir&, const Hierarchy&, bool is_inline);

} // namespace kawara::cache
