#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kawara::estimate {

/// Bytes that one cache and what is behind it give each other.
struct Moved {
  double read = 0;    ///< that came in to be read
  double written = 0; ///< that went out, changed; past it, where stores are stored non-temporally
};

/// Caches in a row, nearest first, as far as bytes are concerned: which lines they hold, not when
/// those arrive. Each line has one set of `kWays` lines, of which the one that was used longest ago
/// makes room. A line that is stored to is not read before (it is taken for whole), and goes to the
/// cache behind when it has to make room. Processors that fetch such lines all the same move more.
class Caches {
public:
  static constexpr int64_t kWays = 8;

  Caches(std::span<const int64_t> bytes, int64_t line_bytes);

  void load(int64_t address, int64_t bytes);
  void store(int64_t address, int64_t bytes);
  /// Past all caches; what they hold of it is dropped.
  void store_past(int64_t address, int64_t bytes);

  /// Of the k-th cache and what is behind it, since the last `count_anew`.
  const std::vector<Moved>& moved() const { return moved_; }
  /// Forgets what was moved, not what is held.
  void count_anew();

private:
  /// Lines of a set, the last used first: the line's number times two, one more where it is
  /// changed; -1 for none.
  struct Cache {
    int64_t sets = 0;
    std::vector<int64_t> lines;
  };
  int64_t* set_of(size_t k, int64_t line);
  /// Whether the cache has the line; it is then the last used.
  bool find(size_t k, int64_t line, bool is_changed);
  void put(size_t k, int64_t line, bool is_changed);
  void load_line(size_t k, int64_t line);
  void store_line(size_t k, int64_t line);

  int64_t line_bytes_;
  std::vector<Cache> caches_;
  std::vector<Moved> moved_;
};

} // namespace kawara::estimate
