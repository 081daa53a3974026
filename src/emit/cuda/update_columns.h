#pragma once

#include "kernel/kernel.h"

namespace kawara::emit {

/// Assignments of vectors that follow each other and do not need each other, by the vector that
/// they multiply with: the sums of a tile in registers, the rows of each group of columns together.
/// `count` of them from the first on; 0 where there are none of that kind.
///
///   c0 = c0 + a0 * b0;  c1 = c1 + a0 * b1;  c2 = c2 + a1 * b0;  c3 = c3 + a1 * b1
///   groups {c0, c2}, {c1, c3}
///
/// A column is then computed from one end to the other and the next one back: two neighbours share
/// an operand, which need not be read from its register again.
struct UpdateColumns {
  size_t count = 0;
  std::vector<std::vector<const kernel::Assign*>> groups;
};
UpdateColumns update_columns(const kernel::Kernel&, const kernel::Block&, size_t first);

} // namespace kawara::emit
