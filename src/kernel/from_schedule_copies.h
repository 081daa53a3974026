#pragma once

#include "schedule/schedule.h"

#include <vector>

namespace kawara::kernel {

/// A tensor whose leading dimensions count copies (program::Tensor::private_dims), of which an iteration
/// of loop `at` touches exactly one, and no other iteration the same: one copy serves them all.
struct SingleCopy {
  uint32_t tensor = 0;
  poly::LoopId at;
};

/// All of them. `at` is the innermost loop around every access whose iterations have a copy each; where a loop bound to a GPU's threads and more such loops
/// inside it would share a copy, the innermost outside all of them.
std::vector<SingleCopy> single_copies(const schedule::Schedule&);

} // namespace kawara::kernel
