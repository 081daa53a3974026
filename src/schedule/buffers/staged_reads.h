#pragma once

#include "poly/scop.h"
#include "schedule/propose.h"

#include <optional>
#include <string>
#include <vector>

namespace kawara::schedule {

/// Reads of a tensor below a loop that a copy can serve, by statements that have iterations, and
/// where the copy stands in the source order: before the root node at `source_root`, after every
/// write of what it copies.
struct StagedReads {
  size_t source_root = 0;
  std::vector<poly::Access> reads;
};

/// What `stage` and `pack` can do with `tensor` at `loop` (none: before all loops); else why not,
/// in a sentence. With a `reader` that statement's reads alone count; others go on reading the
/// tensor.
Result<StagedReads, std::string> staged_reads(const Schedule&, uint32_t tensor,
                                              std::optional<poly::LoopId> loop,
                                              const std::string& loop_name,
                                              std::optional<poly::StmtId> reader = {});

/// The tensor called `name`. Refuses an unknown one (K0208).
Result<uint32_t, Refusal::Shape> resolve_tensor(const poly::Scop&, const std::string& name,
                                                const std::string& request);

/// Puts the nest of a copying statement before the first node of `loop`'s body (none: of the whole
/// order) that holds one of the reads.
void insert_before_reads(poly::Order&, std::optional<poly::LoopId> loop,
                         const std::vector<poly::Access>& reads, poly::TreeNode nest);
/// Puts a copying statement into the source order: loops over all its iterators, before everything
/// that reads.
void place_in_source(poly::Scop&, poly::StmtId copy, size_t source_root);

} // namespace kawara::schedule
