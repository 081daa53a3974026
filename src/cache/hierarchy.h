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
/// A miss fetches the line from the cache behind, then a changed line that made room goes
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

  size_t size() const { return stages_.size(); }
  const Description& description(size_t k) const { return stages_[k].description; }
  Level& level(size_t k) { return *stages_[k].level; }
  Level& first() { return level(0); }
  /// How many of the caches, the nearest first, bring the lines of stores in and keep what changed:
  /// those that compiled code is made of. What is behind them is called.
  static constexpr size_t kMostCompiled = 4;
  size_t compiled() const;
  bool is_full_lru(size_t k) const; ///< kept as one list of uses
  bool has_full(size_t k) const { return stages_[k].full.has_value(); }
  FullLru& full(size_t k) { return *stages_[k].full; }
  uint64_t* was_used(size_t k) { return stages_[k].was_used.data(); }
  uint32_t shift_behind(size_t k) const { return stages_[k + 1].shift - stages_[k].shift; }
  /// Where arrays begin, in lines of the k-th cache: that of a line is the last one of this list
  /// that does not begin behind it.
  struct FirstLine {
    uint32_t line = 0;
    size_t array = 0;
  };
  std::vector<FirstLine> first_lines(size_t k) const;
  size_t array_of(size_t k, uint32_t line) const;
  /// Notes that the line was used; whether it never was before.
  bool first_use(size_t k, uint32_t line);
  void use(size_t k, uint32_t line, uint32_t reference, bool is_store);
  /// A changed line that comes from the cache before the k-th.
  void receive(size_t k, uint32_t line, uint32_t reference);
  const Description& first_description() const { return stages_[0].description; }
  uint32_t first_shift() const { return stages_[0].shift; }
  /// A store that goes on at once, past the k-th cache, to the next.
  void pass_on(size_t k, uint32_t line, uint32_t reference);
  /// Uses the L1, whatever it does with stores, but for counting the access. Whether more changed
  /// than the order of lines.
  bool touch(uint32_t line, uint32_t reference, bool is_store);
  void drop(uint32_t line); ///< of the L1; all drop what they have of it

  std::vector<LevelCounts> take() { return std::move(counts_); }
  std::vector<LevelCounts>& counts() { return counts_; }
  /// By reference: accesses of the L1 that are lines of pieces behind their first one.
  std::vector<int64_t>& extra() { return extra_; }
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
  bool store_around(size_t k, uint32_t line, uint32_t reference);
  void missed(size_t k, uint32_t line, uint32_t reference, bool is_store, Used used,
              bool is_in_full);
  void count_miss(size_t k, uint32_t line, uint32_t reference, bool is_in_full);
  void write_back(size_t k, uint32_t tag, uint32_t reference);
  uint32_t line_behind(size_t k, uint32_t line) const {
    return line >> (stages_[k + 1].shift - stages_[k].shift);
  }

  std::vector<Stage> stages_;
  std::vector<Extent> arrays_;
  std::vector<LevelCounts> counts_;
  std::vector<int64_t> extra_;
};

/// A cache as a Level, of lines 0 to `lines` - 1.
std::unique_ptr<Level> level_from_description(const Description&, uint32_t lines);

} // namespace kawara::cache
