#pragma once

#include "kernel/kernel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::kernel {

struct FieldCheckOptions {
  uint64_t seed = 1;
  /// Statement instances of the program, all sizes together, after which further sizes are left out
  /// ...
  uint64_t instances = 200'000;
  /// ... unless parts of the kernel have not run yet, and no more instances than this are needed to
  /// go on.
  uint64_t instances_for_rest = 1'000'000;
  /// Statements of the kernel at one size, after which that size is left out.
  uint64_t steps = 4'000'000;
};

struct FieldCheck {
  size_t statements = 0;                 ///< of the kernel
  size_t never_run = 0;                  ///< of those, at none of the sizes
  size_t checked = 0;                    ///< sizes at which both were run
  size_t left_out = 0;                   ///< sizes that would have taken too long
  std::vector<int64_t> params;           ///< of the first mismatch
  std::optional<std::string> wrong = {}; ///< what the mismatch is
};

/// Runs a kernel and its program over a finite ring (scalar/field.h) on random inputs, at each of
/// these sizes, and compares all results. Sums may be in any order, products distributed, functions
/// of the same argument computed where and as often as one likes: what is left is which instances
/// ran, on which elements. The kernel runs with every check of kernel/interpret.
///
/// Needs a kernel whose functions are calls (PassOptions::keeps_functions). Not seen: rounding,
/// wrapping, saturation, and what is computed of a function's formula.
FieldCheck check_over_field(const program::Program&, const Kernel&,
                            const std::vector<std::vector<int64_t>>& sizes,
                            const FieldCheckOptions& = {});

} // namespace kawara::kernel
