#pragma once

#include "graph/graph.h"
#include "run/functions/function.h"
#include "support/diagnostic.h"

#include <functional>
#include <vector>

namespace kawara::driver {

/// Told before each node: how many of them are done.
using NodeProgress = std::function<void(size_t done, size_t of)>;

/// What a graph means: its nodes one after the other, each program through `program::interpret`,
/// each value in memory of its own. Slow and obvious; plans and compiled code are tested against
/// it. Inputs and captured values in the graph's order. Refuses what plans refuse (K0510, K0511).
Result<std::vector<run::Datum>, Diagnostic> interpret(const graph::Graph&,
                                                      const std::vector<run::Datum>& inputs,
                                                      const std::vector<run::Datum>& captured = {},
                                                      const NodeProgress& progress = nullptr);

/// The same, with every value of the graph instead of its outputs; those never made are empty.
Result<std::vector<run::Datum>, Diagnostic>
interpret_all(const graph::Graph&, const std::vector<run::Datum>& inputs,
              const std::vector<run::Datum>& captured = {}, const NodeProgress& progress = nullptr);

} // namespace kawara::driver
