#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// Choose a schedule for the whole program from the machine's caches and registers: `auto`.
///
///   before   for i: for j: { S0(i, j); for k: S1(i, j, k) }
///   after    parallel for i: vector for j:                                           S0
///            parallel for i.0: for j.0: for k.0: ... unrolled i, vector j innermost:   S1
///
/// First, temps that each iteration of a loop writes anew no longer keep iterations in order: a
/// scalar sum becomes one in the element of its result (`store_at`, `store_in`), a value goes where
/// it is used (`inline`), iterations get copies (`store_at`; schedule/auto/nest/private_temps.h).
/// `kawara show --stage schedule` names these directives.
///
/// A new order of all loops is asked of isl's scheduler; it and the order in force are improved
/// nest by nest, each by the first rule of a table (schedule/auto/rules.h) whose plan the judge
/// accepts, and the better one is kept. Every step is one of the other directives; `kawara show
/// --stage why` lists what was considered. A maximum and sums that need it (attention) run in one
/// pass
/// (`online`) where that saves a temp larger than half the L2. What comes out depends on the
/// program, the fixed sizes and the machine, on nothing else. For a GPU (`--target cuda`) loops are
/// bound to blocks and threads instead, and tiles go to shared memory and registers
/// (schedule/auto/gpu_schedule.h).
///
/// Where `auto` is all that is asked for, the program may be written another way first, with the
/// same result: without dimensions of one element (program/rewrites/unit_dimensions.h), with
/// several dimensions as one where that makes long rows, more rows or longer sums
/// (program/rewrites/joined_dimensions.h), operands of products that are read with strides as
/// copies side by side, on narrow vectors (program/rewrites/dense_strides.h), sums of i8 by i8 as
/// u8 by i8 where the machine has instructions for those only (program/rewrites/offset_products.h).
/// Under `numerics fast`, with nearly the same result: convolutions by 3 x 3 windows in tiles
/// (program/rewrites/winograd.h) where that is estimated to be faster.
///
/// Needs    nothing.
/// Legal    always: in the worst case the order stays as it is.
/// Refuses  nothing.
Proposed propose(const Schedule&, const Auto&, const Environment&);

/// The steps of `auto` on this schedule as other directives: in a group, they give the same order.
/// Just `auto` where some step has no directive.
std::vector<Directive> spelled_out(const Schedule&, const Environment&);

} // namespace kawara::schedule
