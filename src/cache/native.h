#pragma once

#include "cache/access_program.h"
#include "cache/hierarchy.h"

#include <functional>
#include <optional>

namespace kawara::cache {

/// Compiles a program with its caches for this processor and runs it: warm-up, which is not
/// counted, and code. The number of accesses, a piece in two lines counted once; nothing where LLVM
/// cannot compile it, and then nothing was run.
std::optional<int64_t> run_native(const AccessProgram&, Hierarchy&,
                                  const std::function<void(int64_t accesses)>& progress);

} // namespace kawara::cache
