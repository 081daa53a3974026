#pragma once

#include "run/measure.h"

#include <functional>

namespace kawara::bench {

struct RaceOptions {
  double sample_seconds = 0.004; ///< a sample is a batch of calls that takes about this long
  int rounds = 15;
  double limit_seconds = 4;     ///< fewer rounds, at least three, when they would take longer
  bool waits_for_quiet = false; ///< let the other contestants' threads fall asleep before a sample
  bool counts_cpu_time = false; ///< time of this process only; for works of one thread
};

/// Times several works in turns: each round takes one sample of each, after calls that are not timed
/// unless calls are long. Every round starts with another work. In the order given.
std::vector<run::Timing> race(const std::vector<std::function<void()>>& works, const RaceOptions&);

/// Returns when the other threads of this process have stopped computing, after half a second at the latest:
/// libraries let their threads spin after the last call, some for 60 ms.
void wait_for_quiet();

} // namespace kawara::bench
