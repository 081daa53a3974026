#pragma once

#include "estimate/count.h"
#include "program/program.h"

#include <span>
#include <string>
#include <vector>

namespace kawara::estimate {

/// The memory near the cores: a cache with all that is nearer, and the registers.
struct FastMemory {
  double bytes = 0;
  /// Whether an element that is stored before it was read is brought in, as caches that allocate
  /// do; else it begins there, as accumulators in registers do.
  bool fetches_for_stores = false;
  bool is_empty_before = false; ///< else it may hold anything when the run begins
};

/// A lower bound of what one statement makes fast memory load.
struct StatementBound {
  std::string name;
  double bytes = 0;                 ///< 0: nothing follows from its accesses
  std::vector<double> exponents;    ///< of its accesses, in their order; empty where none are used
  std::vector<std::string> tensors; ///< of these accesses
};

/// What any order of the iterations loads into a fast memory of so many bytes, at least.
struct LeastTraffic {
  double fast_bytes = 0;
  double bytes = 0;  ///< the largest of all below
  double inputs = 0; ///< bytes of inputs, each of which comes once; where they can be counted
  std::vector<StatementBound> statements; ///< in the program's order
  /// The statement whose bound is the largest; empty: the inputs.
  std::string decided_by;
};

/// Whatever the order of the iterations, the tiles and the caches: each iteration runs once and
/// needs its elements in fast memory. A stretch of the run
/// that loads T bytes therefore touches at most S + T bytes of all tensors, and what that allows of
/// iterations is bounded by a Brascamp-Lieb inequality (brascamp_lieb.h); loops that are short may
/// be taken apart first, which the small windows of convolutions need. Statements are bounded one
/// by one: a run that shares what it loads between them has no less than the largest of their
/// bounds.
LeastTraffic least_traffic(const program::Program&, std::span<const int64_t> sizes, const Work&,
                           const FastMemory&);

} // namespace kawara::estimate
