#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// A nest that reduces windows of a temp (pooling) can run in chunks of rows, each with the rows of the temp that it needs made
/// right before it: products and what follows them cell by cell, all of which then stay in a cache.
struct WindowChunks {
  std::vector<Directive> plan; ///< brings them together
  poly::StmtId reader;         ///< inside the loop over chunks, its outermost
};

/// For the first such nest whose temp only it reads, and which a product makes; rows that two chunks need are made twice, so
/// chunks have several. Nothing where there are too few rows or one chunk's do not fit.
std::optional<WindowChunks> window_chunks(const Schedule&, const Environment&);

} // namespace kawara::schedule
