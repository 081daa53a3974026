#pragma once

#include "graph/graph.h"

namespace kawara::graph {

/// The graph with its f32 values as `type` (bf16 or f16): weights are converted here; inputs and
/// outputs stay what they are declared as, with a Cast behind and before them. How operators sum is
/// theirs to say (in f32).
Graph with_narrow_floats(Graph, DataType type);

/// Why a graph cannot be changed like that: a node with subgraphs, quantised or recurrent (K0735).
std::optional<Diagnostic> refuse_narrow_floats(const Graph&, DataType type);

} // namespace kawara::graph
