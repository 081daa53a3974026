#pragma once

#include "estimate/count.h"
#include "estimate/machine.h"

#include <string>
#include <vector>

namespace kawara::estimate {

/// The machine's two limits: arithmetic, and the way to the cache or memory that holds the data.
struct Roof {
  double peak_flops = 0;        ///< per second
  double bandwidth_bytes = 0;   ///< per second
  const char* unit = "FLOP";    ///< what is counted: "OP" where some are of integers
  std::string level = "memory"; ///< whose bandwidth it is
};

/// The roof over this work with that many threads. Its peak is that of the types in the mix they
/// come in: what their operations take together, each at its own peak. Its bandwidth is that of the
/// nearest cache that holds all tensors, where they stay when a program is run again and again;
/// else that of memory.
Roof roof_over(const Work&, const Machine&, int64_t threads);

/// One measured run.
struct RooflinePoint {
  std::string label;
  double flops = 0; ///< operations, in the roof's unit
  double bytes = 0; ///< that must cross the bus
  double seconds = 0;
};

/// Where a point sits under the roof.
struct RooflinePlace {
  double intensity = 0;  ///< operations per byte; infinite when no byte must move
  double achieved = 0;   ///< operations per second
  double attainable = 0; ///< min(peak, bandwidth * intensity)
  /// Achieved share of the bound that applies, 0..1 and more where caches beat the model; by time,
  /// so that it is also right for programs without arithmetic.
  double share = 0;
  bool is_memory_bound = false;
};

RooflinePlace place(const Roof&, const RooflinePoint&);

/// Two lines: the numbers, and which limit applies.
std::string describe(const Roof&, const RooflinePoint&);

/// Log-log picture of the roof with the points, as a stand-alone SVG document.
std::string roofline_svg(const Roof&, const std::vector<RooflinePoint>&);

} // namespace kawara::estimate
