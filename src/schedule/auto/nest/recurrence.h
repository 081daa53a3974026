#pragma once

#include "schedule/auto/rule/rule.h"
#include "target/cpu.h"

#include <optional>

namespace kawara::schedule {

/// Rows side by side where each is a recurrence and lanes would load element by element: four
/// chains hide the latency of two dependent multiply-adds (a Neoverse-V1, 18 November 2026: 31 ms
/// one by one, 18 with two rows, 10.4 with four, 9.9 with eight).
inline constexpr int64_t kJammedRows = 4;

/// Unroll-and-jam for recurrences along contiguous rows. Lanes over the rows load and store element
/// by element; several chains side by side hide the latency instead, and each walks its own row:
///
///   for i: for j: y[i, j] = x[i, j] + y[i, j - 1]
///   for i0: for j: for i1 in range(4), unrolled: ...
///
/// Not where lanes gain: most accesses are contiguous along them, or functions are computed.
void recurrences_side_by_side(const Site&, const Offer&);

/// Iterations from which on a scan by itself runs in lanes; more than any loop has where vectors of
/// such elements are too narrow for it.
int64_t shortest_scan_in_lanes(const target::Cpu&, int64_t element_bytes);

/// The loop of the nest that runs as a scan in lanes (docs/notes/blocked_scans.md): the innermost
/// whose iterations follow each other, where these hand on nothing else than running values of
/// contiguous elements. Nothing where it is short, or where narrow vectors have rows to walk side
/// by side.
std::optional<size_t> scan_in_lanes(const Schedule&, const Nest&, const NestFacts&,
                                    const target::Cpu&);

/// That loop innermost, threads along another one:
///
///   for r: for i: s[r, i] = s[r, i - 1] + x[r, i]
///   for r, parallel: for i, vectorized
void scans_in_lanes(const Site&, const Offer&);

} // namespace kawara::schedule
