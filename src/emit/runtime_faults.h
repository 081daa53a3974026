#pragma once

#include "emit/runtime_api.h"

#include <atomic>

namespace kawara::emit {

/// What generated code tells its caller, right behind what it may call. Generated code knows the order of the members: see
/// emit/llvm/division.cpp.
struct RuntimeFaults : RuntimeApi {
  /// Set where an integer is divided by zero, whichever thread does; the quotient is any number.
  mutable std::atomic<int64_t> divided_by_zero = 0;
};

} // namespace kawara::emit
