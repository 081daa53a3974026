#pragma once

#include "graph/graph.h"
#include "support/diagnostic.h"

namespace kawara::driver {

/// Can nodes of this operator be run at all? Those that only passes of Kawara make count as well.
bool is_known_operator(const graph::Node&);

/// The error (K0510) for a graph with operators that are not known: which they are, in subgraphs
/// too, how many nodes each has, and the nearest operator of the standard that is known.
Diagnostic unknown_operators(const graph::Graph&);

} // namespace kawara::driver
