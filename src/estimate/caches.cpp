#include "estimate/caches.h"

#include <algorithm>

namespace kawara::estimate {

Caches::Caches(std::span<const int64_t> bytes, int64_t line_bytes) : line_bytes_(line_bytes) {
  for (const int64_t capacity : bytes) {
    const int64_t sets = std::max<int64_t>(1, capacity / line_bytes / kWays);
    caches_.push_back({sets, std::vector<int64_t>(static_cast<size_t>(sets * kWays), -1)});
  }
  moved_.resize(caches_.size());
}

void Caches::load(int64_t address, int64_t bytes) {
  for (int64_t line = address / line_bytes_; line <= (address + bytes - 1) / line_bytes_; ++line)
    load_line(0, line);
}

void Caches::store(int64_t address, int64_t bytes) {
  for (int64_t line = address / line_bytes_; line <= (address + bytes - 1) / line_bytes_; ++line)
    store_line(0, line);
}

void Caches::store_past(int64_t address, int64_t bytes) {
  for (int64_t line = address / line_bytes_; line <= (address + bytes - 1) / line_bytes_; ++line)
    for (size_t k = 0; k < caches_.size(); ++k) {
      int64_t* set = set_of(k, line);
      std::replace_if(
          set, set + kWays, [&](int64_t held) { return held >= 0 && held / 2 == line; }, -1);
    }
  for (Moved& moved : moved_)
    moved.written += static_cast<double>(bytes);
}

void Caches::count_anew() { std::fill(moved_.begin(), moved_.end(), Moved{}); }

int64_t* Caches::set_of(size_t k, int64_t line) {
  return caches_[k].lines.data() + line % caches_[k].sets * kWays;
}

bool Caches::find(size_t k, int64_t line, bool is_changed) {
  int64_t* set = set_of(k, line);
  for (int64_t way = 0; way < kWays; ++way)
    if (set[way] >= 0 && set[way] / 2 == line) {
      const int64_t held = set[way] | (is_changed ? 1 : 0);
      std::copy_backward(set, set + way, set + way + 1);
      set[0] = held;
      return true;
    }
  return false;
}

void Caches::put(size_t k, int64_t line, bool is_changed) {
  int64_t* set = set_of(k, line);
  const int64_t last = set[kWays - 1];
  std::copy_backward(set, set + kWays - 1, set + kWays);
  set[0] = line * 2 + (is_changed ? 1 : 0);
  if (last < 0 || last % 2 == 0)
    return;
  moved_[k].written += static_cast<double>(line_bytes_);
  if (k + 1 < caches_.size())
    store_line(k + 1, last / 2);
}

void Caches::load_line(size_t k, int64_t line) {
  if (k == caches_.size() || find(k, line, false))
    return;
  moved_[k].read += static_cast<double>(line_bytes_);
  load_line(k + 1, line);
  put(k, line, false);
}

void Caches::store_line(size_t k, int64_t line) {
  if (!find(k, line, true))
    put(k, line, true);
}

} // namespace kawara::estimate
