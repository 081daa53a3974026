#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// A tall reduction has too few results for tiles, lanes and threads, so that the terms are shared
/// instead. All results stay in registers, each as often as a vector has lanes (or, where
/// neighbouring results fill lanes, as often as hides the time of an addition), while one pass
/// reads every term once. Threads take a part of the terms each. Not where
/// another statement touches the terms too: it may want them while they are in the cache.
///
///   C[i, j] += A[i, k] * B[j, k], 3 x 5 results, 2 threads, 4 lanes:
///   split(k, K / 2); rfactor(k.0); split(k.1, 4); rfactor(k.1.1);
///   reorder(k.0, k.1.0, i, j, k.1.1); unroll(i); unroll(j); vectorize(k.1.1, 4); parallel(k.0)
///
/// More results than registers are taken in tiles; blocks of the terms stay in the L1 for them.
void tall_reductions(const Site&, const Offer&);

/// The same before products are planned: only what those would have to transpose to use lanes,
/// terms that lie together.
void tall_reductions_of_rows(const Site&, const Offer&);

/// Whether it is worth the time to take what is below the loop apart and to look: at most three
/// statements, one of them an update.
bool may_be_tall_reduction(const Schedule&, poly::LoopId);

} // namespace kawara::schedule
