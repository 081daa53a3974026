#pragma once

#include "poly/scop.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// Iterations that a statement did not have before.
struct Added {
  poly::StmtId statement;
  uint32_t iter = 0; ///< they differ from earlier ones in its value alone
  isl::set iterations;
};

/// Why added iterations change results: sentences, with the first such iteration.
struct Change {
  std::vector<std::string> why;
  bool is_forbidden = false; ///< by the numerics contract alone
};

/// Nothing when the results of `scop`, whose domains have the iterations already, are what they
/// were without. Every added iteration touches elements that exist and reads what was written
/// before it; it adds zero to an element, or writes elements of a temp that no other iteration
/// reads. `to` is what the user asked for, for advice.
std::optional<Change> change_by(const poly::Scop&, const std::vector<Added>&, int64_t to);

} // namespace kawara::schedule
