#pragma once

#include "program/operators/window.h"

namespace kawara::program::operators {

/// Shapes of a convolution, checked. Dimensions of extent 1 in front (one image, one group) are
/// left out of the program, so that it is the nest that people write.
struct Sizes {
  int64_t images = 1, groups = 1, channels = 1, filters = 1; ///< the last two per group
  std::vector<int64_t> spatial, kernel;
};

/// Refuses what does not fit together. Weights of a transposed convolution have their channels
/// first.
std::optional<Sizes> sizes_of(Definition& d, size_t image, size_t weight, bool is_transposed);
/// Refuses a bias, operand `k`, that is not one number per filter.
void check_bias(Definition& d, size_t k, const Sizes&);

/// "g, m" without what has extent 1: index of a value per filter, seen as [groups, filters].
std::string filter_index(const Sizes&);
Shape filter_shape(const Sizes&);

} // namespace kawara::program::operators
