#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kawara::tune {

/// Watches whether other programs take cores that this process wants for its threads. A schedule
/// with threads that is timed meanwhile looks slower than it is beside one without.
class LoadMonitor {
public:
  /// Begins to watch for a process that wants this many cores to itself.
  explicit LoadMonitor(int64_t threads);

  /// Cores, on average since then, that this process wanted and others had. 0 where the system does
  /// not tell.
  double missing() const;

private:
  struct Moment {
    double clock = 0; ///< seconds
    double busy = 0;  ///< seconds of all cores on which this process may run
    double own = 0;   ///< seconds of processor time of this process
  };
  Moment now() const;

  std::vector<int> cores_; ///< on which this process may run
  int64_t threads_;
  Moment begin_;
};

/// Seconds that the given cores were busy, from the text of /proc/stat; `tick` is the length of its
/// unit.
double busy_seconds(std::string_view stat, const std::vector<int>& cores, double tick);

} // namespace kawara::tune
