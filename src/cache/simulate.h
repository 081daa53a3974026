#pragma once

#include "cache/access_program.h"
#include "cache/hierarchy.h"

#include <functional>

namespace kawara::cache {

struct Simulated {
  std::vector<Description> levels;
  std::vector<LevelCounts> counts; ///< of each level
  int64_t accesses = 0;            ///< of the program, a piece in two lines counted once
  /// By reference: of its accesses to the L1 those of second and further lines of a piece.
  std::vector<int64_t> extra;
  bool is_compiled = false; ///< else it was gone through step by step
};

/// How a program is gone through: compiled, or step by step, which begins at once and is the
/// reference.
enum class Engine : uint8_t { Either, Compiled, Interpreted };

/// What caches in a row do with a program's accesses, one by one, with one thread: exact for these
/// caches. `with_classes` tells capacity from conflict misses, for half as much time again; without
/// it all that are not compulsory count as capacity. `progress` is told now and then how many
/// accesses there were. Both engines count the same; `Either` compiles what has many accesses. What
/// LLVM cannot compile is interpreted.
Simulated simulate(const AccessProgram&, const std::vector<Description>&, bool with_classes = true,
                   const std::function<void(int64_t accesses)>& progress = {},
                   Engine engine = Engine::Either);

} // namespace kawara::cache
