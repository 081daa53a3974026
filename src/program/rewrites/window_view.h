#pragma once

#include <cstdint>

namespace kawara::program {

/// Elements of a tensor that need not be stored: those of an image [n, y, x, c] under a window that
/// moves over it, zeros outside the image.
///
///   T[(n * down.steps + y) * right.steps + x, r, s, c] =
///       image[n, down.stride * y + down.dilation * r - down.before,
///                right.stride * x + right.dilation * s - right.before, c]
///
/// Where T has more channels than the image, they go on with those of the elements to the right,
/// all of them inside the image. Dimensions of extent 1 may be left out: the image's n, and r and
/// s. Where channels come in groups, T has a dimension for these before its last one:
///
///   T[.., g, c] = image[.., channels_of_group * g + c]
struct WindowView {
  struct Side {
    int64_t steps = 1; ///< places of the window
    int64_t stride = 1, dilation = 1;
    int64_t before = 0;   ///< elements of padding in front
    bool has_taps = true; ///< a dimension for the window's elements: r or s
    friend bool operator==(const Side&, const Side&) = default;
  };
  uint32_t image = 0; ///< number of the tensor
  Side down, right;
  int64_t channels_of_group = 0; ///< 0: T has no dimension for groups
  friend bool operator==(const WindowView&, const WindowView&) = default;
};

} // namespace kawara::program
