#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// Partial results of a table of sums stay in registers and the L1: what begins them and what adds
/// up their lanes comes into the tiles of the update, which is the outermost nest of its statement
/// and has them since tall_reduction_plan.
///
///   for i: for j: for l: P[i, j, l] = 0
///   for i.0: { for k: for i.1, j: for l: P[..] += A[..] * B[..] }
///   for i: for j: for l: C[i, j] += P[i, j, l]
///
///   for i.0: { for i.1, j: for l: P[..] = 0;  for k: ...;  for i.1, j: for l: C[i, j] += P[..] }
///
/// Empty where the update has no such tiles, or where its partial results are begun or read in
/// another way.
std::vector<Directive> partials_in_tiles(const Schedule&, poly::StmtId update);

} // namespace kawara::schedule
