#pragma once

#include <cstdint>
#include <vector>

namespace kawara::cache {

/// The `capacity` lines that were used last, of lines 0 to `lines` - 1.
///
/// Uses are written down one behind the other, and of each line where its last one stands. The line
/// that was used longest ago is then the first of the list whose last use stands there; what is in
/// front of it is skipped for good. A full list is written anew without what has a later use.
class FullLru {
public:
  FullLru(uint32_t capacity, uint32_t lines)
      : capacity_(capacity), last_(lines, 0), uses_(size_t{8} * capacity + kShortList, 0) {}

  /// Whether the line was there; it now is, the last used. `evicted()` is the one that made room.
  bool use(uint32_t line) {
    uint32_t& at = last_[line];
    if (at == now_)
      return true;
    const bool was_there = at != 0;
    if (!was_there)
      make_room();
    if (++now_ == uses_.size())
      shorten();
    uses_[now_] = line;
    at = static_cast<uint32_t>(now_);
    return was_there;
  }

  bool holds(uint32_t line) const { return last_[line] != 0; }

  static constexpr uint64_t kNone = UINT64_MAX;
  /// The line that the last `use` of a line that was not there put out; kNone where there was room.
  uint64_t evicted() const { return evicted_; }
  uint64_t capacity() const { return capacity_; }

  void drop(uint32_t line) {
    held_ -= last_[line] != 0 ? 1 : 0;
    last_[line] = 0;
  }

private:
  static constexpr size_t kShortList = 1 << 12;

  void make_room() {
    evicted_ = kNone;
    if (held_ < capacity_) {
      ++held_;
      return;
    }
    uint32_t line = uses_[oldest_];
    while (last_[line] != oldest_)
      line = uses_[++oldest_];
    last_[line] = 0;
    evicted_ = line;
    ++oldest_;
  }

  [[gnu::noinline]] void shorten() {
    uint32_t next = 2;
    for (uint64_t at = oldest_; at < now_; ++at)
      if (const uint32_t line = uses_[at]; last_[line] == at) {
        uses_[next] = line;
        last_[line] = next++;
      }
    oldest_ = 2;
    now_ = next;
  }

  // Of 64 bits, so that a compiler sees that writing to the lists does not change them.
  uint64_t capacity_, held_ = 0;
  uint64_t oldest_ = 2, now_ = 1; ///< places of `uses_`; 0 means never, 1 is nobody's
  uint64_t evicted_ = kNone;
  std::vector<uint32_t> last_, uses_;
};

} // namespace kawara::cache
