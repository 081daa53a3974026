#pragma once

#include "schedule/auto/rowwise/softmax_chain.h"

#include <optional>
#include <set>

namespace kawara::schedule {

/// A schedule in which a chain of reductions runs in one pass, and the outermost loops that need no
/// more.
struct OnePass {
  Schedule schedule;
  std::set<poly::LoopId> done;
};

/// Runs the first chain that would else store a large temp (attention stores one element for each
/// pair of positions) block by block in one pass: the blocks of its temps stay in cache, products
/// get register tiles, rows run on threads. Nothing when there is no such chain or some step is
/// refused.
std::optional<OnePass> one_pass(const Schedule&, const Environment&);

/// Rows and reduced elements of a block.
struct ChainBlocks {
  int64_t rows = 0, reduced = 0;
};

/// A chain that runs in one pass, block by block, and nothing more: no tiles inside blocks, no
/// threads.
struct JoinedChain {
  Schedule schedule;
  ReductionChain chain;
  std::vector<poly::LoopId> rows; ///< outermost first; the last one is over blocks of rows
  poly::LoopId blocks;            ///< of the reduced index, inside them
};

/// The first chain that would else store a temp of more than `bytes`. Temps of narrow types are
/// kept, because instructions read them; other cheap ones are inlined.
std::optional<JoinedChain> join_chain(const Schedule&, const Environment&, const ChainBlocks&,
                                      int64_t bytes);

} // namespace kawara::schedule
