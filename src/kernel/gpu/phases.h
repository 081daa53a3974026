#pragma once

#include "kernel/kernel.h"

#include <variant>
#include <vector>

namespace kawara::kernel {

struct PhaseNode;
using PhaseNodes = std::vector<PhaseNode>;

/// Statements that each thread of a block runs without waiting for another.
struct Phase {
  Block body;
};
/// A For, If or Allocate that all threads of a block go through together; its blocks are empty,
/// what belongs into them stands beside it.
struct PhaseControl {
  Stmt shell;
  PhaseNodes then, otherwise; ///< `otherwise` of an If only
};
/// What a block of threads does, before it is known where threads wait for each other.
struct PhaseNode {
  std::variant<Phase, PhaseControl> what;
};

/// The statements with a Barrier between two phases wherever, in the text or around a loop, one of
/// them writes a buffer that the other touches. Private buffers, and those in `owned`, of which no
/// element is touched by two threads, need none.
Block with_barriers(const Kernel&, const PhaseNodes&, const std::set<uint32_t>& thread_private);

} // namespace kawara::kernel
