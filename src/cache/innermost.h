#pragma once

#include "cache/access_program.h"

namespace kawara::cache {

/// What an innermost loop is made of: its touches in order, each under all conditions around it.
struct Innermost {
  struct Guarded {
    const Touch* touch = nullptr;
    int64_t piece = 0, step = 0; ///< which of the touch's, and bytes that it moves each time
    std::vector<std::pair<const Linear*, bool>> guards; ///< and what each must be
  };
  struct Compared {
    const Formula* formula = nullptr;
    int64_t step = 0; ///< by which b - a moves each time; not 0
  };

  /// Touches of more pieces than `most_pieces` make it none.
  Innermost(const AccessProgram&, const Loop&, int64_t most_pieces);

  bool is_leaf = true;   ///< there are only touches and conditions in it
  bool is_linear = true; ///< addresses, and both sides of comparisons, move by the same each time
  std::vector<Guarded> touches;
  std::vector<Compared> compared; ///< what conditions are made of, as far as it changes
};

} // namespace kawara::cache
