#pragma once

#include "graph/graph.h"

namespace kawara::graph {

/// The least version of the standard's operators that has every operator of the graph and its
/// subgraphs; never less than the graph's own. Passes write operators that are newer than the file:
/// Gelu (20), Attention (23).
int64_t needed_opset(const Graph&);

/// The graph as that version of the standard spells it: where a newer version takes as an operand
/// what was an attribute, or means something else by the same words, nodes are changed so that they
/// compute the same. Refuses what has no newer spelling (K0567). A version that is not above the
/// graph's own changes nothing.
Result<Graph, Diagnostic> with_opset(Graph, int64_t version);

} // namespace kawara::graph
