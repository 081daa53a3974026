#pragma once

#include "estimate/count.h"
#include "estimate/machine.h"
#include "kernel/kernel.h"

#include <span>
#include <string>
#include <vector>

namespace kawara::estimate {

struct Replayed;

/// Bytes that go through one level in a call, and how long they take.
struct LevelTraffic {
  std::string name; ///< where the bytes come from: "L1", ..., "memory"
  double bytes = 0;
  double seconds = 0;
};

/// What a schedule makes the machine do.
struct Prediction {
  Work work; ///< of the program: what must be done at least
  std::vector<LevelTraffic> levels;
  double arithmetic_seconds = 0;
  double fork_seconds = 0; ///< threads started
  double seconds = 0;      ///< of a call, when another one came before it
  int64_t threads = 1;
  std::string bound; ///< what sets the pace: "arithmetic", "L1", "memory", ...
};

/// Predicts one call of the kernel, whose marks have not been applied, at these sizes: each part
/// that is not prepared takes as long as the slowest of its arithmetic and the traffic of each
/// level (traffic.h).
Prediction predict(const Work&, const kernel::Kernel&, std::span<const int64_t> params,
                   const Machine&, int64_t threads);

/// Operations, bytes per level, intensity and its inverse, and the time.
std::string print(const Prediction&, const Machine&);
std::string to_json(const Prediction&, const Machine&, const Replayed* = nullptr);

} // namespace kawara::estimate
