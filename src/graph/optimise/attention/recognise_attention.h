#pragma once

#include "graph/optimise/passes.h"
#include "graph/rewrite/extract.h"

namespace kawara::graph::optimise {

/// When attention that is written out (two products, a softmax between them) becomes one Attention
/// node.
enum class AttentionUse : uint8_t {
  Never,
  ByCost, ///< where the given cost of the one node is below that of its parts
  Always  ///< wherever it is the same
};

/// What was found, and what became of it.
struct AttentionChoice {
  std::string node;            ///< the product with the values
  double apart = 0, whole = 0; ///< seconds, by the given cost
  bool is_taken = false;
  bool is_flat = false; ///< heads side by side, as the products before and after have them
};

struct Attentions {
  Graph graph;
  std::vector<AttentionChoice> choices;
};

/// Attention that is written out becomes one node: MatMul, a scale by Mul or Div on either side of
/// it, a mask by Add or Where, Softmax, MatMul. Reshape and Transpose that take heads apart before
/// and put them together after go with it, where they are of no other use. Only where the result is
/// the same but for rounding: known shapes, no broadcast operands, nothing on the way that others
/// read.
Attentions recognise_attention(Graph, AttentionUse, const rewrite::Cost&);

} // namespace kawara::graph::optimise
