#pragma once

#include "schedule/schedule.h"

#include <map>
#include <optional>
#include <vector>

namespace kawara::schedule {

/// Which iterators of a statement stand for the rows of a chain of reductions and for the index
/// that it reduces over.
struct ChainRole {
  std::vector<uint32_t> rows;      ///< one for each index of the maximum
  std::optional<uint32_t> reduced; ///< statements that run once a row have none
};

/// A maximum over a row, the sums that need it, and what belongs to them, in a program of nests
/// with one statement each: what `online` could run in one pass.
struct ReductionChain {
  poly::StmtId maximum;
  std::vector<poly::StmtId> members;   ///< the maximum first; each has a reduced iterator
  std::vector<poly::StmtId> attached;  ///< starts and ends of the sums, by row
  std::vector<poly::StmtId> producers; ///< of temps that only members read
  std::map<poly::StmtId, ChainRole> roles;
};

/// The first chain of the program's nests (in tree order) that would do without a temp over rows
/// and reduced index, of more than `bytes` or of a size that depends on parameters. A guess from
/// the shape of indices: `online` proves it or refuses.
std::optional<ReductionChain> reduction_chain(const Schedule&, int64_t bytes);

} // namespace kawara::schedule
