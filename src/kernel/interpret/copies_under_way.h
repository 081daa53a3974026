#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace kawara::kernel {

/// Cells that asynchronous copies of a block's threads have not brought yet, as far as anybody knows: a thread closes groups of
/// its copies one after the other (Commit) and waits for all but the last few (Await).
class CopiesUnderWay {
public:
  using CellKey = std::pair<uint64_t, int64_t>; ///< storage and cell

  void begin(int64_t thread, CellKey cell) {
    groups_[thread].back().insert(cell);
    cells_.insert(cell);
  }
  void commit(int64_t thread) { groups_[thread].emplace_back(); }
  /// Waits for all closed groups but the last `pending`.
  void await(int64_t thread, int64_t pending) {
    auto& groups = groups_[thread];
    while (static_cast<int64_t>(groups.size()) - 1 > pending) {
      for (const CellKey& cell : groups.front())
        cells_.erase(cell);
      groups.erase(groups.begin());
    }
  }
  bool has(CellKey cell) const { return !cells_.empty() && cells_.contains(cell); }
  void clear() {
    groups_.clear();
    cells_.clear();
  }

private:
  /// Of a thread, oldest first; the last one is still open.
  struct Groups : std::vector<std::set<CellKey>> {
    Groups() : std::vector<std::set<CellKey>>(1) {}
  };
  std::map<int64_t, Groups> groups_;
  std::set<CellKey> cells_;
};

} // namespace kawara::kernel
