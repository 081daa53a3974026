#pragma once

#include "driver/plan/plan.h"

namespace kawara::driver {

/// Gives every result of the plan's kernels a place in one block, such that values that exist at
/// the same time do not overlap. Results of the graph, and what later plans read, keep memory of
/// their own. A result lies where the value that its step replaces lay.
void place_values(const graph::Graph&, Plan&);

/// An operand of a step that nobody reads after it, of as many bytes as the step's only result,
/// both in the plan's block. Nobody else has a part in its memory: no view of it is read again, no
/// join has it within its result.
struct LastUse {
  size_t step, operand; ///< operand: which of the step
  int64_t bytes;
};
struct MemoryUse {
  std::vector<int64_t> bytes_at; ///< of values that exist, by step
  std::vector<LastUse> last_uses;
};
MemoryUse memory_use(const graph::Graph&, const Plan&);

/// A stretch of the plan's block that holds a value, and the others that lie within it.
struct Lifetime {
  ValueId value;
  int64_t offset, bytes;
  size_t first, last; ///< steps, both included
};
/// Of a plan whose values have places, by their offsets; those that live at one step do not meet.
std::vector<Lifetime> lifetimes(const graph::Graph&, const Plan&);

} // namespace kawara::driver
