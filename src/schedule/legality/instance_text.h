#pragma once

#include "poly/scop.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// "S1 at (i=0, k=2)", or "S1" where no loop is around it.
std::string instance_text(const poly::Scop&, poly::StmtId, const std::vector<int64_t>& iters);

/// The first pair of iterations at the smallest sizes; the relation is not empty.
struct FirstPair {
  std::vector<int64_t> params, source, sink;
};
FirstPair first_pair(const poly::Scop&, const isl::map& pairs);

/// "for N = 2", or nothing where there are no sizes.
std::string sizes_text(const poly::Scop&, const std::vector<int64_t>& params);

} // namespace kawara::schedule
