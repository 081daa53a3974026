#pragma once

#include <isl/cpp.h>

namespace kawara::poly {

/// What isl's scheduler is asked for.
struct SchedulerQuestion {
  isl::union_set domain;
  isl::set context;
  isl::union_map validity;      ///< must not be reversed
  isl::union_map proximity;     ///< distances to make small: fusion and locality
  isl::union_map coincidence;   ///< distances to make zero: parallel loops
  bool prefers_parallel = true; ///< keep nests apart where joining them costs a parallel loop
};

/// A schedule that respects `validity`; bands are permutable and their members flagged coincident.
isl::schedule compute_schedule(const SchedulerQuestion&);

} // namespace kawara::poly
