#pragma once

#include "poly/scop.h"
#include "validate/inverse.h"
#include "validate/reading.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace kawara::validate {

/// Sets over the loops around a run, then its points. Made when they are first asked for: most runs
/// are compared by their way back alone.
class LoopSets {
public:
  /// Points of loops, by place and number of points, that several runs have in common.
  using Shared = std::map<std::pair<const BlockPlace*, size_t>, isl::set>;
  LoopSets(const poly::Scop& scop, Leaf leaf, std::shared_ptr<const BlockPlace> place,
           std::shared_ptr<Shared> shared)
      : scop_(scop), leaf_(std::move(leaf)), place_(std::move(place)), shared_(std::move(shared)) {}
  const isl::set& domain();
  const isl::map& instances(); ///< from the domain

private:
  isl::set points_of_loops();
  const poly::Scop& scop_;
  Leaf leaf_;
  std::shared_ptr<const BlockPlace> place_;
  std::shared_ptr<Shared> shared_;
  std::optional<isl::set> domain_;
  std::optional<isl::map> instances_;
};

/// Statements of one block of a kernel that run instances of one statement of the scop. Copies that
/// differ in a constant distance (unrolled ones, lanes) are one run.
struct Run {
  uint32_t statement = 0;
  std::vector<Step> path; ///< of the first copy
  uint32_t last_copy = 0; ///< the position of the last one in the block where the path ends
  std::shared_ptr<LoopSets> sets;
  const isl::set& domain() const { return sets->domain(); }
  const isl::map& instances() const { return sets->instances(); }
  /// The way back from instances, where it can be read off; then `range` are the instances, and no
  /// two points run the same.
  std::optional<Inverse> inverse;
  std::optional<isl::set> range;
  bool is_padded = false;               ///< kernel::Origin
  bool is_per_thread = false;           ///< kernel::Origin
  std::optional<uint32_t> scanned_lane; ///< dimension of the lanes of a scan
  bool is_then = true;                  ///< BlockPlace
  bool is_otherwise = true;             ///< BlockPlace
};

/// What a kernel runs, as far as it can be read back.
struct Runs {
  std::vector<Run> all;
  std::vector<std::string> faults; ///< arms of a condition on data that run different instances
  std::set<uint32_t> unread_statements; ///< of the scop
};

/// The integer sets of what was read. `joins_copies`: those of a block that fill a grid are one
/// run. `goes_back`: with the way back from instances where there is one.
Runs runs_of(const poly::Scop&, const DomainFacts&, bool joins_copies, bool goes_back);

} // namespace kawara::validate
