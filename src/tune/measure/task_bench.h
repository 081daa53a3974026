#pragma once

#include "program/interpret/values.h"
#include "tune/measure/bench.h"

#include <memory>

namespace kawara::tune {

/// What all benches of a task share; made once, before processes are.
struct Reference {
  Task task;
  schedule::Schedule initial;          ///< the source order
  schedule::Schedule default_schedule; ///< what `auto` makes of it
  Diagnostics warnings;
  program::Arrays inputs;
  /// The interpreter's results at these sizes; nothing where that would take too long. The default
  /// schedule's results are the measure then, checked against the interpreter at smaller sizes.
  std::optional<program::Arrays> expected;
};

Parsed<std::shared_ptr<const Reference>> reference_of(Task);

/// Candidates of a task, compiled and called in this process. Before the bench is there, the
/// default schedule was compared with the interpreter; an error says how they differ (K0436).
Parsed<std::unique_ptr<Bench>> bench_of(const std::shared_ptr<const Reference>&);

} // namespace kawara::tune
