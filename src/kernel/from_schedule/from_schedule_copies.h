#pragma once

#include "kernel/kernel.h"
#include "schedule/schedule.h"

#include <map>
#include <vector>

namespace kawara::kernel {

/// A tensor whose leading dimensions count copies (program::Tensor::private_dims), of which an
/// iteration of loop `at` touches exactly one, and no other iteration the same: one copy serves
/// them all.
struct SingleCopy {
  uint32_t tensor = 0;
  poly::LoopId at;
};

/// All of them. `at` is the innermost loop around every access whose iterations have a copy each;
/// where a loop bound to a GPU's threads and more such loops inside it would share a copy, the
/// innermost outside all of them.
std::vector<SingleCopy> single_copies(const schedule::Schedule&);

/// Whether an iteration of a loop with a single copy is in several parts of the body, each with an
/// Allocate of its own: what one part wrote, the next would not find. `places`: the loop by tensor.
bool has_torn_copy(const schedule::Schedule&, const std::map<uint32_t, poly::LoopId>& places,
                   const Block& body);

} // namespace kawara::kernel
