#pragma once

#include "kernel/kernel.h"

#include <set>

namespace kawara::emit {

/// What the body of a launch mentions, by number in the kernel.
struct UsedNames {
  std::set<uint32_t> params, variables, buffers; ///< those in shapes of its buffers too
  std::set<uint32_t> loaded; ///< buffers of which it reads elements, updates included
};
UsedNames used_names(const kernel::Kernel&, const kernel::Launch&);

} // namespace kawara::emit
