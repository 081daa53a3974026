#pragma once

#include "program/program.h"

namespace kawara::program {

/// A scan with its running value in a scalar, as far as somebody chooses by it.
struct RunningScan {
  scalar::Elem elem;
  size_t loops = 0;              ///< around it
  std::optional<int64_t> length; ///< where that is a number
};

/// Running values that a scalar hands on, handed on by the elements that they are stored in. Lanes
/// and blocks know only those, and a scalar keeps the loops around in order:
///
///   before   for r in range(5): t = 0
///                               for i in range(n): t += x[r, i]; s[r, i] = t
///   after    for r in range(5): s[r, 0] = 0 + x[r, 0]
///                               for i in range(1, n): s[r, i] = s[r, i - 1] + x[r, i]
///
/// Also `s[i] = t; t += x[i]` (each element without its own term). Where others use the scalar,
/// too, it is where the elements begin, and it gets its last value behind them. Scans that may be
/// regrouped (find_scan.h) and that `is_worth` picks.
Program with_running_elements(Program, const std::function<bool(const RunningScan&)>& is_worth);

} // namespace kawara::program
