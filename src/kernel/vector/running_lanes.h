#pragma once

#include "kernel/kernel.h"

#include <optional>

namespace kawara::kernel {

/// A store of running values in a vector loop: each lane adds to what the lane before it stored.
/// One variable has the last vector.
struct RunningLanes {
  Store store; ///< of one iteration
  Store terms; ///< the same with only what is added
  scalar::ReduceOp op = scalar::ReduceOp::Sum;
  Expr before; ///< the element that the iteration before stored
  uint32_t var = 0;
};

/// The store as one; the judge has allowed lanes to hand on its values. Nothing where the element
/// before is written another way, or where storing rounds.
std::optional<RunningLanes> running_lanes(const Kernel&, const For&, const Store&);

} // namespace kawara::kernel
