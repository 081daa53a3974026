#pragma once

#include "cache/access_program.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace kawara::cache {

/// How many different other lines were used since the last use of the line.
///
/// Uses are numbered, and a bit says of each whether it is its line's last. The distance is the
/// number of bits behind that of the line: within the newest block of bits they are counted, before
/// it blocks add up in a Fenwick tree. Full lists are numbered anew without what has a later use.
class StackDistances {
public:
  static constexpr uint64_t kFirst = UINT64_MAX;

  explicit StackDistances(uint32_t lines);
  /// Of the use that is made now; kFirst where the line was never used.
  uint64_t use(uint32_t line);

private:
  static constexpr uint64_t kBlock = 512; ///< bits
  uint64_t behind(uint64_t at) const;
  void change_block(uint64_t block, int32_t by);
  void open(uint64_t block);
  void shorten();

  std::vector<uint32_t> last_;  ///< number of a line's last use; 0: none
  std::vector<uint32_t> lines_; ///< of the uses
  std::vector<uint64_t> bits_;
  std::vector<uint32_t> tree_; ///< of blocks before the newest; 1-based
  uint64_t now_ = 0, live_ = 0;
};

/// Misses of a cache of one set, LRU, for all sizes at once.
struct DistanceHistogram {
  int64_t line_bytes = 64;
  int64_t touches = 0, first = 0; ///< of lines; those that were the line's first
  std::vector<int64_t> times;     ///< by distance

  int64_t misses(int64_t lines) const; ///< of a cache of so many lines
};

/// The stack distances of all touches of an access program's code.
DistanceHistogram distances(const AccessProgram&, int64_t line_bytes,
                            const std::function<void(int64_t accesses)>& progress = {});

} // namespace kawara::cache
