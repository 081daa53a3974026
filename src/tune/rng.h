#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kawara::tune {

/// Numbers that look random and depend on the seed alone, the same on every machine.
class Rng {
public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  /// 0 .. count - 1; count must be positive.
  size_t below(size_t count) { return static_cast<size_t>(next() % count); }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool coin(double probability) { return unit() < probability; }
  template <class T> const T& pick(const std::vector<T>& from) { return from[below(from.size())]; }

private:
  uint64_t state_;
};

} // namespace kawara::tune
