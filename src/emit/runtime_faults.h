#pragma once

#include "emit/runtime_api.h"

#include <array>
#include <atomic>

namespace kawara::emit {

/// What generated code tells its caller, right behind what it may call. Generated code knows the
/// order of the members: see emit/llvm/division.cpp and emit/llvm/data_index.cpp.
struct RuntimeFaults : RuntimeApi {
  /// Dimensions of a tensor of indices that are told.
  static constexpr int64_t kMostTold = 4;

  /// Set where an integer is divided by zero, whichever thread does; the quotient is any number.
  mutable std::atomic<int64_t> divided_by_zero = 0;
  /// Not 0: an index was not inside its tensor, and the thread that saw it stopped. One more than
  /// the number of the check in `Signature::checks`; the index, what it had to be below, and the
  /// element it was read from are those of the first thread.
  mutable std::atomic<int64_t> outside = 0;
  mutable std::atomic<int64_t> index = 0;
  mutable std::atomic<int64_t> extent = 0;
  mutable std::array<std::atomic<int64_t>, kMostTold> element = {};
};

} // namespace kawara::emit
