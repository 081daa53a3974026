#pragma once

#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/product/product.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// A nest that reduces windows of a temp (pooling), or multiplies its rows by weights
/// (schedule/auto/chunk/back_to_back.h), can run in chunks of rows, each with the rows of the temp
/// that it needs made right before it: products and what follows them element by element, all of
/// which then stay in a cache.
struct WindowChunks {
  /// Brings them together in a loop over chunks. `in_parts`, if there is such a plan: in a loop
  /// over parts of a dimension in which windows do not reach from element to element, channels, and
  /// one over chunks inside it.
  std::vector<Directive> plan, in_parts;
  poly::StmtId reader;         ///< inside these loops
  std::vector<uint32_t> temps; ///< that are made in chunks, the one that the reader reads first
  bool is_product = false;     ///< the reader is one
};

/// For the first such nest whose temp only it reads, and which a product makes; rows that two
/// chunks need are made twice, so chunks have several. Nothing where there are too few rows or one
/// chunk's do not fit.
std::optional<WindowChunks> window_chunks(const Schedule&, const Environment&);

/// Temps that are made for the reader of one alone, that one first, when one of them is a product's
/// result.
std::vector<uint32_t> temps_made_for(const Schedule&, const Dataflow&, poly::StmtId reader,
                                     uint32_t temp);

/// Statements that are still there.
std::vector<poly::StmtId> live_statements(const Schedule&);

/// Where a product makes the elements of chunks in lanes that lie across their rows: directives
/// that have those lanes lie side by side in all temps of the chunks, so that nothing is transposed
/// before the window's own results, of which there are fewer. Nothing where lanes lie along rows,
/// are no whole vectors, or where the temps' elements are not made one by one of each other.
std::vector<Directive> lanes_together(const Schedule&, const WindowChunks&, const Product&,
                                      const Environment&);

} // namespace kawara::schedule
