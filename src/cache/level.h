#pragma once

#include "cache/description.h"
#include "cache/full_lru.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace kawara::cache {

/// What a use of a line did. A line that was put out is (number + 1) * 2, one more where it is
/// changed; 0: none was.
struct Used {
  bool is_hit = true;
  uint32_t put_out = 0;
};

/// Where a cache keeps its lines, for compiled code; what a kind of cache has not is null.
struct LevelParts {
  uint32_t* tags = nullptr; ///< of sets
  uint64_t* state = nullptr;
  const uint64_t *on_the_way = nullptr, *away = nullptr;
  FullLru::Fields* order = nullptr; ///< of one set
  uint8_t* is_changed = nullptr;    ///< by line
};

/// Which lines a cache holds.
class Level {
public:
  virtual ~Level() = default;
  /// The line is in the cache afterwards, changed where `changes` says so or it was.
  virtual Used use(uint32_t line, bool changes) = 0;
  /// The same where the cache has it; else nothing happens. Whether it has.
  virtual bool use_if_there(uint32_t line, bool changes) = 0;
  virtual void drop(uint32_t line) = 0;
  virtual LevelParts parts() = 0;
  /// Lines that were used in an iteration of so many touches are there in the next one.
  virtual bool keeps(uint64_t touches) const = 0;
  /// Iterations of so many touches after which what was used before them is still there.
  virtual int64_t patience(uint64_t) const { return 0; }
};

/// One set of all lines.
class FullLruLevel final : public Level {
public:
  FullLruLevel(const Description& d, uint32_t lines)
      : order_(static_cast<uint32_t>(d.lines()), lines), is_changed_(lines, 0) {}
  Used use(uint32_t line, bool changes) override {
    const bool is_hit = order_.use(line);
    if (changes)
      is_changed_[line] = 1;
    if (is_hit)
      return {};
    const uint64_t out = order_.evicted();
    if (out == FullLru::kNone)
      return {false, 0};
    const uint32_t tag = (static_cast<uint32_t>(out) + 1) * 2 + is_changed_[out];
    is_changed_[out] = 0;
    return {false, tag};
  }
  bool use_if_there(uint32_t line, bool changes) override {
    return order_.holds(line) && use(line, changes).is_hit;
  }
  void drop(uint32_t line) override {
    order_.drop(line);
    is_changed_[line] = 0;
  }
  LevelParts parts() override {
    LevelParts made;
    made.order = &order_.fields();
    made.is_changed = is_changed_.data();
    return made;
  }

  bool keeps(uint64_t touches) const override { return touches <= order_.capacity(); }
  int64_t patience(uint64_t touches) const override {
    return static_cast<int64_t>(order_.capacity() / std::max<uint64_t>(touches, 1)) - 2;
  }

private:
  FullLru order_;
  std::vector<uint8_t> is_changed_;
};

/// Sets of as many lines as the description says.
template <Policy kPolicy> class Sets final : public Level {
public:
  explicit Sets(const Description& d)
      : ways_(static_cast<uint64_t>(d.lines_of_set())), sets_(static_cast<uint64_t>(d.sets())),
        is_power_(std::has_single_bit(sets_)), tags_(sets_ * ways_, 0),
        state_(kPolicy == Policy::Lru ? 0 : sets_, 0) {
    if constexpr (kPolicy == Policy::Plru)
      make_tree();
  }

  Used use(uint32_t line, bool changes) override {
    const uint64_t set = set_of(line);
    const uint32_t tag = (line + 1) * 2, change = changes ? 1 : 0;
    uint32_t* tags = &tags_[set * ways()];
    if constexpr (kPolicy == Policy::Lru) {
      if ((tags[0] & ~1U) == tag) {
        tags[0] |= change;
        return {};
      }
      return use_older(tags, tag, change);
    } else {
      if (const uint64_t way = find(tags, tag); way < ways()) {
        hit(set, tags, way, change);
        return {};
      }
      return {false, put(set, tags, tag | change)};
    }
  }
  bool use_if_there(uint32_t line, bool changes) override {
    const uint64_t set = set_of(line);
    uint32_t* tags = &tags_[set * ways()];
    const uint64_t way = find(tags, (line + 1) * 2);
    if (way < ways())
      hit(set, tags, way, changes ? 1 : 0);
    return way < ways();
  }
  void drop(uint32_t line) override {
    uint32_t* tags = &tags_[set_of(line) * ways()];
    if (const uint64_t way = find(tags, (line + 1) * 2); way < ways())
      tags[way] = 0;
  }
  LevelParts parts() override {
    LevelParts made;
    made.tags = tags_.data();
    made.state = state_.data();
    made.on_the_way = on_the_way_.data();
    made.away = away_.data();
    return made;
  }

  bool keeps(uint64_t touches) const override {
    return kPolicy == Policy::Lru && touches <= ways();
  }

private:
  uint64_t ways() const { return ways_; }
  uint64_t set_of(uint32_t line) const { return is_power_ ? line & (sets_ - 1) : line % sets_; }
  /// The last used stands first: each line moves on by one place, to where the line was, or out.
  Used use_older(uint32_t* tags, uint32_t tag, uint32_t change) {
    uint32_t moved = std::exchange(tags[0], tag | change);
    for (uint64_t way = 1; way < ways(); ++way) {
      std::swap(moved, tags[way]);
      if ((moved & ~1U) == tag) {
        tags[0] |= moved;
        return {};
      }
    }
    return {false, moved};
  }
  uint64_t find(const uint32_t* tags, uint32_t tag) const {
    uint64_t way = 0;
    while (way < ways() && (tags[way] & ~1U) != tag)
      ++way;
    return way;
  }

  void hit(uint64_t set, uint32_t* tags, uint64_t way, uint32_t change) {
    if constexpr (kPolicy == Policy::Lru) {
      if (way == 0)
        tags[0] |= change;
      else
        use_older(tags, tags[way] & ~1U, change);
    } else {
      tags[way] |= change;
      if constexpr (kPolicy == Policy::Plru)
        turn_away(set, way);
    }
  }
  uint32_t put(uint64_t set, uint32_t* tags, uint32_t tag) {
    uint64_t way = 0;
    if constexpr (kPolicy == Policy::Fifo) {
      way = state_[set];
      state_[set] = way + 1 == ways() ? 0 : way + 1;
    } else {
      way = pointed_to(set);
      turn_away(set, way);
    }
    return std::exchange(tags[way], tag);
  }

  // The tree: bit 1 is its root, bits 2b and 2b + 1 are below bit b. A bit that is set points to
  // its second half.
  void make_tree() {
    for (uint64_t way = 0; way < ways(); ++way)
      for (uint64_t node = way + ways(); node > 1; node /= 2) {
        const uint64_t bit = uint64_t{1} << (node / 2);
        on_the_way_[way] |= bit;
        away_[way] |= node % 2 == 0 ? bit : 0;
      }
  }
  void turn_away(uint64_t set, uint64_t way) {
    state_[set] = (state_[set] & ~on_the_way_[way]) | away_[way];
  }
  uint64_t pointed_to(uint64_t set) const {
    uint64_t node = 1;
    while (node < ways())
      node = node * 2 + (state_[set] >> node & 1);
    return node - ways();
  }

  uint64_t ways_, sets_; ///< like full_lru.h: other types than those of the lists
  bool is_power_;
  std::vector<uint32_t> tags_;
  std::vector<uint64_t> state_; ///< of a set: the bits of the tree, or the next way
  std::array<uint64_t, kMostTreeWays> on_the_way_{}, away_{};
};

} // namespace kawara::cache
