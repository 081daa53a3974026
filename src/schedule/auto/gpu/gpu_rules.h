#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

// Rules for a GPU: each binds the loops of what it is about to blocks and threads.

/// A chain of reductions with two products in one pass on tensor cores; asked for the program.
void attention_in_one_pass(const Site&, const Offer&);
/// A matrix by a few rows, with the nests that begin and finish the results (gpu/skinny.cpp).
void products_of_few_rows(const Site&, const Offer&);
/// Products with the reduction in parts: one launch computes them, another adds them up.
void gpu_products_in_parts(const Site&, const Offer&);
/// Products in tiles of tensor cores or of threads, with the nests around and without.
void gpu_products(const Site&, const Offer&);
/// Nests along the same rows: a block or a warp for each row.
void rows_of_blocks(const Site&, const Offer&);
/// One sum that nothing stands around: blocks add up parts of a long one.
void sum_by_blocks(const Site&, const Offer&);
/// The same by the threads of one block.
void sum_by_threads(const Site&, const Offer&);
/// A nest that writes along one loop and reads along another: tiles through shared memory.
void transposes_in_shared_memory(const Site&, const Offer&);
/// Parallel loops of a perfect nest as blocks and threads, other loops inside them or around.
void maps(const Site&, const Offer&);
/// A thread for each iteration of a parallel loop that holds several nests.
void iterations_as_threads(const Site&, const Offer&);

} // namespace kawara::schedule
