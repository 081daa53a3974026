#pragma once

#include "driver/tape/tape.h"

namespace kawara::driver {

/// Steps of a tape that do the same.
struct LaunchKind {
  std::string name; ///< "conv_relu"; "copy"; the operator of a call
  int64_t times = 0;
  bool is_movement = false; ///< they only bring elements to other places
  bool is_call = false;     ///< they are run-time functions
  int64_t bytes =
      0; ///< that all of them read and write, at least; of a movement: that it moves, twice
};

/// What a run of a tape starts, and what of it is pure movement.
struct Launches {
  std::vector<LaunchKind> kinds; ///< by name
  int64_t steps = 0, movements = 0, calls = 0;
  int64_t bytes = 0, moved_bytes = 0; ///< of the kernels and copies; of those that only move
  int64_t block_bytes = 0;            ///< memory for values between steps
};

/// Counts the steps of a tape of programs.
Launches launches_of(const Tape&);

} // namespace kawara::driver
