#pragma once

#include "cache/level.h"

#include <memory>
#include <optional>

namespace kawara::cache {

/// Of one reference at one cache. A piece that lies in two lines is two accesses. A miss is
/// *compulsory* where the line was never used before, *capacity* where a cache of as many lines in
/// one set, of which the one that was used longest ago makes room, misses too, else *conflict*.
struct Count {
  int64_t accesses = 0, compulsory = 0, capacity = 0, conflict = 0;
  int64_t written_back = 0; ///< changed lines that made room for it

  int64_t misses() const { return compulsory + capacity + conflict; }
  int64_t hits() const { return accesses - misses(); }
  Count& operator+=(const Count&);
};

struct LevelCounts {
  std::vector<Count> of;          ///< by reference
  std::vector<int64_t> lines_out; ///< by array: changed lines of it that were written back
  std::vector<int64_t> lines;     ///< by array: lines of it that were used
  int64_t passed_on = 0;          ///< stores that went on at once, to what is behind
  int64_t received = 0,
          not_there = 0; ///< lines written back to it; those of them that it did not hold
};

/// Caches in a row, nearest first, behind which there is memory.
///
/// The L1 is used through `First` (a Level), so that hits cost no call; `after` is told what it
/// did. A miss fetches the line from the cache behind, then a changed line that made room goes
/// there; what it does not hold it takes without fetching it. Caches keep no promise about each
/// other's lines.
class Hierarchy {
public:
  struct Extent {
    uint64_t begin = 0, bytes = 0;
  };
  /// `with_classes`: tells capacity from conflict misses; else what is not compulsory counts as
  /// capacity.
  Hierarchy(std::vector<Description>, std::vector<Extent> arrays, size_t references,
            bool with_classes);

  Level& first() { return *stages_[0].level; }
  const Description& first_description() const { return stages_[0].description; }
  uint32_t first_shift() const { return stages_[0].shift; }
  /// The cache of one set beside the L1; null where there is none.
  FullLru* first_full() { return stages_[0].full ? &*stages_[0].full : nullptr; }

  /// The L1 was used: `used` is what it did, `is_in_full` whether `first_full` had the line.
  void first_missed(uint32_t line, uint32_t reference, bool is_store, Used used, bool is_in_full) {
    missed(0, line, reference, is_store, used, is_in_full);
  }
  /// A store that goes on at once, past the k-th cache, to the next.
  void pass_on(size_t k, uint32_t line, uint32_t reference);
  /// Of the L1: a store where one that misses brings no line in. Whether it was a hit.
  bool store_around(uint32_t line, uint32_t reference) { return store_around(0, line, reference); }
  void drop(uint32_t line); ///< of the L1; all drop what they have of it

  std::vector<LevelCounts> take() { return std::move(counts_); }
  std::vector<LevelCounts>& counts() { return counts_; }
  /// Forgets what was counted, not what is held.
  void count_anew();

private:
  struct Stage {
    Description description;
    uint32_t shift = 0; ///< of an address, to the number of its line
    std::unique_ptr<Level> level;
    std::optional<FullLru> full;
    std::vector<uint64_t> was_used; ///< a bit for each line
  };
  void use(size_t k, uint32_t line, uint32_t reference, bool is_store);
  bool store_around(size_t k, uint32_t line, uint32_t reference);
  void missed(size_t k, uint32_t line, uint32_t reference, bool is_store, Used used,
              bool is_in_full);
  void count_miss(size_t k, uint32_t line, uint32_t reference, bool is_in_full);
  void write_back(size_t k, uint32_t tag, uint32_t reference);
  void receive(size_t k, uint32_t line, uint32_t reference);
  uint32_t line_behind(size_t k, uint32_t line) const {
    return line >> (stages_[k + 1].shift - stages_[k].shift);
  }
  bool first_use(size_t k, uint32_t line);
  size_t array_of(size_t k, uint32_t line) const;

  std::vector<Stage> stages_;
  std::vector<Extent> arrays_;
  std::vector<LevelCounts> counts_;
};

/// A cache as a Level, of lines 0 to `lines` - 1.
std::unique_ptr<Level> level_from_description(const Description&, uint32_t lines);

} // namespace kawara::cache
