#pragma once

#include "graph/optimise/passes.h"
#include "graph/rewrite/extract.h"

namespace kawara::graph::optimise {

/// What became of a part of the graph that works in any order of dimensions.
struct LayoutChoice {
  std::string first;                            ///< one of its nodes
  size_t nodes = 0;                             ///< that work in any order
  size_t before = 0, after = 0;                 ///< transpositions
  double seconds_before = 0, seconds_after = 0; ///< that they take, by the given cost
  size_t moved = 0;                             ///< nodes that work in another order than before
};

struct Layouts {
  Graph graph;
  std::vector<LayoutChoice> choices; ///< where something changed
};

/// Chooses the order of dimensions (channels first, channels last, any other) for every node that
/// can have several, over the whole graph, such that transpositions cost least. Operators with an
/// order of their own (Conv, pools, MatMul), inputs and outputs keep it; what lies between them
/// works in whatever order needs the fewest and smallest transpositions, which a minimal cut
/// decides. Constants are transposed once, here. Graphs without transpositions stay as they are.
Layouts choose_layout(Graph, const rewrite::Cost&);

} // namespace kawara::graph::optimise
