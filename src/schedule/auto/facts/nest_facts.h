#pragma once

#include "schedule/auto/facts/access_table.h"
#include "schedule/auto/facts/perfect_nest.h"
#include "schedule/tree/extent.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// The facts that decide how a nest is scheduled.
struct NestFacts {
  std::vector<bool> is_parallel;  ///< carries no dependence at all (given the fixed loops)
  std::vector<bool> is_reduction; ///< carries nothing but reductions that may be reassociated
  size_t fixed = 0;               ///< this many outer loops must stay where they are
  AccessTable accesses;
  std::vector<Strides> strides; ///< of all accesses, by loop
  std::vector<int64_t> extents; ///< longest run; a guess where it depends on parameters
  std::vector<bool> is_open;    ///< it does
};

NestFacts facts_of(const Schedule&, const Nest&);
/// Of the widest type that results of the nest are computed in.
int64_t widest_bytes(const Schedule&, const Nest&);

/// Bytes of a tensor; sizes that are not fixed count as 1.
int64_t bytes_of_tensor(const program::Tensor&);

/// Whether an index of what a nest's statement loads, of this tensor or of any, mentions one of
/// each of these loops: a window.
bool adds_up(const Schedule&, const Nest&, std::optional<uint32_t> tensor,
             const std::vector<size_t>& some, const std::vector<size_t>& others);

} // namespace kawara::schedule
