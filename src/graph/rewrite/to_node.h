#pragma once

#include "graph/graph.h"
#include "graph/rewrite/term.h"

#include <functional>
#include <vector>

namespace kawara::rewrite {

/// Adds a constant to the graph that is being written.
using NewConstant = std::function<graph::ValueId(Tensor)>;

/// A term as a node of the standard, in the given version: attributes that are operands there
/// become constants. Name and outputs are left to the caller.
graph::Node node_from_term(const std::string& op, const Attrs& attributes,
                           const std::vector<graph::ValueId>& operands, const Type& result,
                           int64_t opset, const NewConstant&);

} // namespace kawara::rewrite
