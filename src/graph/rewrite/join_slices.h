#pragma once

#include "graph/graph.h"

namespace kawara::rewrite {

/// The graph with one Split in place of Slices that cut all of a value, along one dimension, into
/// parts that touch but do not overlap: the value is read once.
graph::Graph join_slices(graph::Graph);

} // namespace kawara::rewrite
