#pragma once

#include "estimate/predict.h"
#include "support/diagnostic.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kawara::estimate {

/// Bytes that a call moves from one level towards the registers, and back.
struct ReplayedLevel {
  std::string name; ///< where they come from: "L1", ..., "memory"
  double read = 0, written = 0;
};

struct Replayed {
  std::vector<ReplayedLevel> levels;
  int64_t accesses = 0; ///< loads and stores of one call
  int64_t assumed = 0;  ///< conditions on data that were taken to hold
};

/// Goes through the loads and stores of a processor's kernel, after all passes, one by one and with
/// one thread, and counts what the machine's caches (caches.h) would move: a prediction (predict.h)
/// looks at loops, this at every address. Counted is the second call: the first finds the caches
/// empty and packs constants.
///
/// A load that a statement repeats, or another one before anything is stored there, is one. What
/// registers do not hold in the end (spills), tables of functions and instructions themselves are
/// left out.
///
/// `progress` is told now and then how many accesses there were. Refuses a kernel whose addresses
/// or bounds depend on data, or one for a GPU (K0446).
Result<Replayed, Diagnostic> replay(const kernel::Kernel&, std::span<const int64_t> params,
                                    const Machine&,
                                    const std::function<void(int64_t accesses)>& progress = {});

/// Bytes by level, beside the predicted ones.
std::string print(const Replayed&, const Prediction&);

} // namespace kawara::estimate
