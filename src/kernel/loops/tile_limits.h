#pragma once

#include "kernel/kernel.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace kawara::kernel {

/// First and last value that variables of a tile's loops can have, by variable. Of the loops around
/// a place: another loop of the kernel may have the same variable and other ends.
using Spans = std::map<uint32_t, std::pair<int64_t, int64_t>>;

/// What a loop becomes in a full tile.
struct Full {
  int64_t lo = 0, hi = 0;
  std::vector<Expr> conditions;
  std::vector<Expr> everywhere; ///< enough for the conditions in all iterations of the tile's loops
};

/// A loop whose bounds are a constant and other terms under min and max: the constants, and what
/// must hold for them to be the bounds. Nothing for other loops, and for those with constant
/// bounds. `around`: the loops of the tile around it.
std::optional<Full> full_loop(const For& loop, const Spans& around);

/// The constants among the bounds of a loop: it has all iterations between them, or fewer.
std::optional<std::pair<int64_t, int64_t>> span_of(const For& loop);

} // namespace kawara::kernel
