#pragma once

#include "kernel/kernel.h"
#include "poly/scop.h"
#include "validate/validate.h"

namespace kawara::validate {

/// Between two barriers no thread of a block touches an element that another one writes: what one
/// thread wrote to shared or global memory is read by others, and overwritten, after a barrier.
/// What asynchronous copies bring, nobody touches before an Await of the thread that began them and
/// a barrier after it. All threads come to every barrier.
///
/// Loops with barriers are walked as often as something is under way from earlier iterations; where
/// a path past a barrier depends on sizes or data, and in launches of warpgroups, the report says
/// what was not checked. Needs a kernel with launches, else it has nothing to do (`has_launch`).
void check_barriers(const poly::Scop&, const kernel::Kernel&, size_t most_pairs, Report&);
bool has_launch(const kernel::Block&);

} // namespace kawara::validate
