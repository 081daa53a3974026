#pragma once

#include "poly/scop.h"
#include "validate/inverse.h"
#include "validate/reading.h"

#include <string>
#include <vector>

namespace kawara::validate {

/// Statements of one block of a kernel that run instances of one statement of the scop. Copies that differ in a constant
/// distance (unrolled ones, lanes) are one run.
struct Run {
  uint32_t statement = 0;
  std::vector<Step> path; ///< of the first copy
  uint32_t last_copy = 0; ///< the position of the last one in the block where the path ends
  /// Over the loops around, then the points; and from there to the instances. Not made where every run of the kernel has an inverse.
  std::optional<isl::set> domain;
  std::optional<isl::map> instances;
  /// The way back from instances, where it can be read off; then `range` are the instances, and no two points run the same.
  std::optional<Inverse> inverse;
  std::optional<isl::set> range;
  bool is_padded = false;     ///< kernel::Origin
  bool is_per_thread = false; ///< kernel::Origin
  bool is_then = true;        ///< BlockPlace
  bool is_otherwise = true;   ///< BlockPlace
};

/// What a kernel runs, as far as it can be read back.
struct Runs {
  std::vector<Run> all;
  std::vector<std::string> faults; ///< arms of a condition on data that run different instances
  std::set<uint32_t> unread_statements; ///< of the scop
};

/// The integer sets of what was read. `joins_copies`: those of a block that fill a grid are one run.
/// `goes_back`: with the way back from instances where there is one.
Runs runs_of(const poly::Scop&, const Reading&, bool joins_copies, bool goes_back);

} // namespace kawara::validate
