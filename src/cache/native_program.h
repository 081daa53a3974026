#pragma once

#include "cache/access_program.h"
#include "cache/hierarchy.h"

#include <string>

namespace kawara::cache {

/// A function `simulate(state, part)` in LLVM's assembly: all accesses of the program's warm-up
/// (part 0) or code (part 1), with the caches inside. It counts as `simulate` does. Iterations of
/// an innermost loop that stay in the same lines are one, as in walk.h.
std::string native_text(const AccessProgram&, const Hierarchy&, bool reports);

} // namespace kawara::cache
