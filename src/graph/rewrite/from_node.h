#pragma once

#include "graph/graph.h"
#include "graph/rewrite/egraph.h"

#include <vector>

namespace kawara::rewrite {

/// An input of a node: its class, and its elements where they are constant; neither when it is
/// absent.
struct NodeOperand {
  std::optional<ClassId> from;
  const Tensor* value = nullptr;
};
using NodeOperands = std::vector<NodeOperand>;

/// The outputs of a node of the standard as terms; empty when rules do not know the operator, when
/// its attributes are of a kind that terms do not have, or when types are missing.
std::vector<ClassId> terms_from_node(EGraph&, const graph::Node&, int64_t opset,
                                     const NodeOperands&);

/// Type of the first output of some operators that are not terms: pools, casts, Shape, Gather,
/// LayerNormalization, comparisons, Where, Attention.
std::optional<Type> type_of_node(EGraph&, const graph::Node&, int64_t opset,
                                 const std::vector<ClassId>& operands);

} // namespace kawara::rewrite
