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
  /// What compiled code sees (native_caches.h knows the order). Of 64 bits, so that a compiler sees
  /// that writing to the lists does not change them.
  struct Fields {
    uint32_t* last; ///< by line: place of its last use; 0 means never, 1 is nobody's
    uint32_t* uses; ///< the lines
    uint64_t length, capacity, held, oldest, now;
  };

  FullLru(uint32_t capacity, uint32_t lines)
      : last_(lines, 0), uses_(size_t{8} * capacity + kShortList, 0),
        f_{last_.data(), uses_.data(), uses_.size(), capacity, 0, 2, 1} {}
  FullLru(FullLru&&) = default;
  FullLru& operator=(FullLru&&) = default;

  /// Whether the line was there; it now is, the last used. `evicted()` is the one that made room.
  bool use(uint32_t line) {
    uint32_t& at = f_.last[line];
    if (at == f_.now)
      return true;
    const bool was_there = at != 0;
    if (!was_there)
      make_room();
    if (++f_.now == f_.length)
      shorten();
    f_.uses[f_.now] = line;
    at = static_cast<uint32_t>(f_.now);
    return was_there;
  }

  bool holds(uint32_t line) const { return f_.last[line] != 0; }

  static constexpr uint64_t kNone = UINT64_MAX;
  /// The line that the last `use` of a line that was not there put out; kNone where there was room.
  uint64_t evicted() const { return evicted_; }
  uint64_t capacity() const { return f_.capacity; }

  void drop(uint32_t line) {
    f_.held -= f_.last[line] != 0 ? 1 : 0;
    f_.last[line] = 0;
  }

  Fields& fields() { return f_; }

  /// Writes a full list anew; the next use is to stand at `now`.
  [[gnu::noinline]] static void shorten(Fields& f) {
    uint32_t next = 2;
    for (uint64_t at = f.oldest; at < f.now; ++at)
      if (const uint32_t line = f.uses[at]; f.last[line] == at) {
        f.uses[next] = line;
        f.last[line] = next++;
      }
    f.oldest = 2;
    f.now = next;
  }

private:
  static constexpr size_t kShortList = 1 << 12;

  void shorten() { shorten(f_); }
  void make_room() {
    evicted_ = kNone;
    if (f_.held < f_.capacity) {
      ++f_.held;
      return;
    }
    uint32_t line = f_.uses[f_.oldest];
    while (f_.last[line] != f_.oldest)
      line = f_.uses[++f_.oldest];
    f_.last[line] = 0;
    evicted_ = line;
    ++f_.oldest;
  }

  std::vector<uint32_t> last_, uses_;
  Fields f_;
  uint64_t evicted_ = kNone;
};

} // namespace kawara::cache
