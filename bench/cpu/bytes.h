#pragma once

#include "cpu/case.h"

#include <string>
#include <vector>

namespace kawara::bench {

/// Bytes that one call moves from a level of memory, towards the processor and back.
struct LevelBytes {
  std::string from;                                   ///< "L2", "L3", "memory"
  double one_predicted = 0, one_replayed = 0;         ///< the case as one program
  double several_predicted = 0, several_replayed = 0; ///< every operation a program of its own
};

struct MovedBytes {
  std::string name;
  std::vector<LevelBytes> levels; ///< those behind the L1
};

/// What the default schedules of a case move on this machine with one thread: predicted from their loops, and counted by going
/// through all their loads and stores (cache/replay.h). Each program is replayed by itself, so that of several
/// small ones each finds its operands where its own last call left them.
MovedBytes moved_bytes(const Case&);

/// A row for each case and level; Markdown.
std::string table_of(const std::vector<MovedBytes>&);

} // namespace kawara::bench
