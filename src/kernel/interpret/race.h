#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace kawara::kernel {

/// Two iterations of a parallel loop that meet in an element, one of them writing.
struct Race {
  uint32_t loop_var = 0;
  int64_t first = 0, second = 0; ///< iteration values
};

/// Who touched which element inside the parallel loops that are running. Storage is told apart by a
/// number that the interpreter gives each allocation.
class RaceDetector {
public:
  void enter(uint32_t loop_var) {
    loops_.emplace_back();
    loops_.back().var = loop_var;
  }
  void iterate(int64_t value);
  /// Iterations from `first` on of the innermost loop have met: what each of them did before comes
  /// before what any of them does next.
  void meet(int64_t first, int64_t count);
  void leave() { loops_.pop_back(); }

  /// Notes an access by the current iterations; the race it makes, if any.
  std::optional<Race> touch(uint64_t storage, int64_t element, bool is_write);

private:
  /// An iteration, and how often its group had met; groups are known by their first one.
  struct Moment {
    int64_t iteration = 0, group = -1, meetings = 0;
    bool comes_before(const Moment& other) const {
      return iteration == other.iteration ||
             (group >= 0 && group == other.group && meetings < other.meetings);
    }
  };
  struct Touch {
    std::optional<Moment> writer, reader, other_reader; ///< readers that come not before each other
  };
  static constexpr size_t kPage = 32;
  struct Group {
    int64_t count = 0, meetings = 0;
  };
  struct Running {
    uint32_t var = 0;
    Moment now;
    std::map<int64_t, Group> groups; ///< that have met, by the first
    /// Touches of neighbouring elements, by the number of their page.
    std::unordered_map<uint64_t, std::unique_ptr<std::array<Touch, kPage>>> pages;
    uint64_t last_number = UINT64_MAX; ///< of the page that was touched last
    std::array<Touch, kPage>* last = nullptr;
  };
  static Touch& touch_of(Running&, uint64_t key);
  std::vector<Running> loops_;
};

} // namespace kawara::kernel
