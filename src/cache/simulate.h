#pragma once

#include "cache/access_program.h"
#include "cache/hierarchy.h"

#include <functional>

namespace kawara::cache {

struct Simulated {
  std::vector<Description> levels;
  std::vector<LevelCounts> counts; ///< of each level
  int64_t accesses = 0;            ///< of the program, a piece in two lines counted once
};

/// What caches in a row do with a program's accesses, one by one, with one thread: exact for these
/// caches. `with_classes` tells capacity from conflict misses, for half as much time again; without
/// it all that are not compulsory count as capacity. `progress` is told now and then how many
/// accesses there were.
Simulated simulate(const AccessProgram&, const std::vector<Description>&, bool with_classes = true,
                   const std::function<void(int64_t accesses)>& progress = {});

} // namespace kawara::cache
