#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kawara {

/// The processor that schedules and code are made for.
struct Machine {
  std::string name;
  std::vector<std::string> features; ///< "neon", "avx2"
  int64_t vector_bytes = 0;          ///< widest vector register that is used
  int64_t threads = 0;               ///< that parallel loops run on: KAWARA_THREADS, or all cores
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0; ///< as one core sees them; 0: no such cache
};

/// The machine this runs on.
Machine this_machine();

} // namespace kawara
