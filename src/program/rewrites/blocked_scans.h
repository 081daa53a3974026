#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// A long prefix sum by itself as sums of blocks, a prefix sum over these, and prefix sums inside
/// blocks (product, maximum and minimum alike). Blocks do not need each other, so threads can share
/// them; each element is read twice, and operations of the scan run in another order.
///
///   before   for i in range(1, 1000): s[i] = s[i - 1] + x[i]
///   after    for b in range(9): for k in range(100): total[b] += x[100*b + k + 1]
///            start[0] = s[0]
///            for b in range(1, 10): start[b] = start[b - 1] + total[b - 1]
///            for b in range(9): s[100*b + 1] = start[b] + x[100*b + 1]
///                               for k in range(1, 100):
///                                 s[100*b + k + 1] = s[100*b + k] + x[100*b + k + 1]
///            for i in range(901, 1000): s[i] = s[i - 1] + x[i]
///
/// The first scan of at least `least` elements, a loop by itself of constant length, in blocks of
/// `block`; nothing when there is none. The scan over blocks is one that may be rewritten next.
/// Floats need a contract other than `exact`. A running value in a scalar is put into elements
/// first (running_elements.h).
std::optional<Program> with_blocked_scan(const Program&, int64_t block, int64_t least);

} // namespace kawara::program
