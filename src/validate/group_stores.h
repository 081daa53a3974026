#pragma once

#include "kernel/kernel.h"
#include "poly/scop.h"
#include "validate/validate.h"

namespace kawara::validate {

/// What a kernel with launches of warpgroups stores to its outputs, thread by thread: each element
/// that the program writes, none twice in one launch. Sizes are numbers there, so blocks, threads
/// and loops are counted; what has no stores to outputs in it is passed over. Where that takes more
/// than `most` steps, or a store depends on something else, the report says so.
void check_group_stores(const poly::Scop&, const kernel::Kernel&, size_t most, Report&);

} // namespace kawara::validate
