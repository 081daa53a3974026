#pragma once

#include "schedule/auto/rule/rule.h"

namespace kawara::schedule {

/// Rules for a nest of which nothing more is known than that one of its loops can run in lanes.

/// Lanes innermost and threads outermost; less of it where that is refused.
///
///   for i: for j: y[i, j] = f(x[i, j])    reorder(i, j); vectorize(j, 8); parallel(i)
void lanes_and_threads(const Site&, const Offer&);

/// The same with several iterations of the loop outside the lanes at once, so that what stays in
/// place along that loop is loaded once for all of them.
///
///   y[i] += A[i, j] * x[j], lanes along i    split(j, 4); reorder(j.0, i.0, j.1, i.1); unroll(j.1)
void unroll_and_jam(const Site&, const Offer&);

/// Sums of columns, whose order of loops other nests share (rowwise/reduce_columns.h): lanes along
/// the columns, row after row.
void columns_row_by_row(const Site&, const Offer&);

/// Lanes that gather what data choose. A loop over a range that is read is nothing for lanes.
void lanes_that_gather(const Site&, const Offer&);

/// Threads alone: where no loop can run in lanes, or somebody chose those already.
void threads_alone(const Site&, const Offer&);

} // namespace kawara::schedule
