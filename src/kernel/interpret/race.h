#pragma once

#include <cstdint>
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
  void enter(uint32_t loop_var) { loops_.push_back({loop_var, 0, {}}); }
  void iterate(int64_t value) { loops_.back().iteration = value; }
  void leave() { loops_.pop_back(); }

  /// Notes an access by the current iterations; the race it makes, if any.
  std::optional<Race> touch(uint64_t storage, int64_t element, bool is_write);

private:
  struct Touch {
    std::optional<int64_t> writer, reader, other_reader; ///< distinct iterations
  };
  struct Running {
    uint32_t var;
    int64_t iteration;
    std::unordered_map<uint64_t, Touch> elements;
  };
  std::vector<Running> loops_;
};

} // namespace kawara::kernel
