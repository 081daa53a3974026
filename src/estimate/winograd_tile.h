#pragma once

#include "program/program.h"
#include "target/cpu.h"

#include <optional>

namespace kawara::estimate {

/// What computing a convolution by 3 x 3 windows takes, as vector operations in one pipeline:
/// directly (m = 1), or in tiles of m x m results (program/rewrites/winograd.h).
///
///   product     multiply-adds, or the time to load weights that are larger than the L2
///   transforms  of tiles there and back: arithmetic, stores and transposing results
///   between     transformed tiles and products are written and read again
///   windows     transformed in each call where they are not constant
struct ConvolutionCost {
  double product = 0, transforms = 0, between = 0, windows = 0;
  double total() const { return product + transforms + between + windows; }
};

/// Sizes of a convolution.
struct ConvolutionSizes {
  int64_t images = 1, channels = 1, filters = 1, height = 1, width = 1; ///< of the result
  bool has_constant_windows = true;
  double direct_speed =
      1; ///< of the direct sum, over that of f32: half floats have instructions of their own
  bool has_channels_last = false; ///< of the image: it is copied at most, not transposed
};

ConvolutionCost convolution_cost(const ConvolutionSizes&, int64_t m, const target::Cpu&);

/// The tile with which the program's first convolution takes the least time, when that is clearly
/// less than the direct sum's.
std::optional<int64_t> winograd_tile(const program::Program&, const target::Cpu&);

} // namespace kawara::estimate
