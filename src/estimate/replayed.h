#pragma once

#include "estimate/predict.h"

#include <string>
#include <vector>

namespace kawara::estimate {

/// Bytes that a call moves from one level towards the registers, and back.
struct ReplayedLevel {
  std::string name; ///< where they come from: "L1", ..., "memory"
  double read = 0, written = 0;
};

/// What simulated caches moved in a call (cache/replay.h).
struct Replayed {
  std::vector<ReplayedLevel> levels;
  int64_t accesses = 0; ///< loads and stores of one call
  int64_t assumed = 0;  ///< conditions on data that were taken to hold
};

/// Bytes by level, beside the predicted ones.
std::string print(const Replayed&, const Prediction&);

} // namespace kawara::estimate
