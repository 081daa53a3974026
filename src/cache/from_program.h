#pragma once

#include "cache/access_program.h"
#include "program/program.h"
#include "support/diagnostic.h"

#include <span>

namespace kawara::cache {

/// Every access that the text of a program writes down, in its order: loops and statements as they
/// stand, of a statement the reads from left to right (of an update first that of its element),
/// then the write. What stands twice is counted twice. Scalars are taken to be in registers. Of a
/// choice on data both sides are counted. Arrays lie one after the other from address 0 on, each at
/// a multiple of `unit` bytes. Refuses a program whose indices or bounds depend on data (K0457).
Result<AccessProgram, Diagnostic> accesses_of_text(const program::Program&,
                                                   std::span<const int64_t> sizes, int64_t unit);

} // namespace kawara::cache
