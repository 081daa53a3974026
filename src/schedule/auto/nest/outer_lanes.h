#pragma once

#include "schedule/schedule.h"

namespace kawara::schedule {

/// A schedule in which iterations of a loop around others are lanes, and its outermost loop, which
/// needs no more.
struct Strips {
  Schedule schedule;
  poly::LoopId outermost;
};

/// Where loops have no lanes of their own (short sums, steps that follow each other), the
/// iterations of a loop around them become lanes: strip by strip, each part of its body runs over
/// the strip.
///
///   for i: { s = 0;  for k in range(5): s += x[i + k];  y[i] = s / 5 }
///   for i0: { for i1: s[i1] = 0;  for k: for i1: s[i1] += x[i + k];  for i1: y[i] = s[i1] / 5 }
///
/// The loop is `loop` or one alone inside it, along which all accesses stay or go to the
/// neighbouring element. Where all go further (recurrences along rows), a strip is a few rows,
/// unrolled: their chains run side by side. Nothing where some statement would have no strip.
/// `takes_steps`: only where iterations of some loop inside follow each other; short sums have
/// other plans that come first.
std::optional<Strips> in_strips(const Schedule&, poly::LoopId loop, const Environment&,
                                bool takes_steps);

/// Whether every statement below the loop runs in lanes.
bool runs_in_lanes(const poly::Order&, poly::LoopId);

} // namespace kawara::schedule
