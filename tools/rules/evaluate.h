#pragma once

#include "graph/graph.h"

#include <map>
#include <vector>

namespace kawara::rules {

/// Outputs of a graph: every operator by its program, every program by the interpreter. For graphs
/// whose operators are programs, views or constants; throws InternalError for others.
std::vector<graph::Tensor> evaluate(const graph::Graph&,
                                    const std::map<graph::ValueId, graph::Tensor>& inputs);

} // namespace kawara::rules
