#pragma once

#include "graph/rewrite/extract.h"
#include "graph/rewrite/from_graph.h"

namespace kawara::rewrite {

/// The graph that a choice stands for. Inputs, outputs and what is opaque keep their names, other
/// values and nodes where they compute what they did; versions of operators stay.
graph::Graph graph_from_terms(const graph::Graph& source, const Terms&, const Choice&);

} // namespace kawara::rewrite
