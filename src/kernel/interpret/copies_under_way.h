#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace kawara::kernel {

/// Elements that asynchronous copies of a block's threads have not brought yet, as far as anybody
/// knows: a thread closes groups of its copies one after the other (Commit) and waits for all but
/// the last few (Await).
class CopiesUnderWay {
public:
  using ElementKey = std::pair<uint64_t, int64_t>; ///< storage and element

  void begin(int64_t thread, ElementKey element) {
    groups_[thread].back().insert(element);
    elements_.insert(element);
  }
  void commit(int64_t thread) { groups_[thread].emplace_back(); }
  /// Waits for all closed groups but the last `pending`.
  void await(int64_t thread, int64_t pending) {
    auto& groups = groups_[thread];
    while (static_cast<int64_t>(groups.size()) - 1 > pending) {
      for (const ElementKey& element : groups.front())
        elements_.erase(element);
      groups.erase(groups.begin());
    }
  }
  bool has(ElementKey element) const { return !elements_.empty() && elements_.contains(element); }
  void clear() {
    groups_.clear();
    elements_.clear();
  }

private:
  /// Of a thread, oldest first; the last one is still open.
  struct Groups : std::vector<std::set<ElementKey>> {
    Groups() : std::vector<std::set<ElementKey>>(1) {}
  };
  std::map<int64_t, Groups> groups_;
  std::set<ElementKey> elements_;
};

} // namespace kawara::kernel
