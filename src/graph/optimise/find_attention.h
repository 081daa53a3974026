#pragma once

#include "graph/optimise/edit.h"
#include "graph/optimise/value_types.h"

namespace kawara::graph::optimise {

/// softmax(scale * query * key^T + mask) * value, written out in several nodes. All of them but the last have no other
/// reader.
struct AttentionParts {
  size_t last = 0;          ///< the product with the values
  std::vector<size_t> gone; ///< nodes that one Attention replaces, the last among them
  ValueId query = kAbsent, value = kAbsent, mask = kAbsent;
  ValueId key = kAbsent;
  bool is_key_transposed = false; ///< [..., elements, keys]
  double scale = 1;
  bool is_causal = false;
  /// A mask by choice: scores where `chosen` is true (or, `keeps_false`, where it is not), `otherwise` elsewhere.
  ValueId chosen = kAbsent, otherwise = kAbsent;
  bool keeps_false = false;
};

/// What ends in this Softmax and the product after it; nothing when the nodes compute something else, or when types are
/// not known. A mask counts as causal where it is constant and hides later keys completely.
std::optional<AttentionParts> find_attention(const Edit&, const ValueTypes&, size_t softmax);

/// Is the value a transposition of another into this order? Its node.
const Node* transposed(const Edit&, ValueId, const std::vector<int64_t>& order);

} // namespace kawara::graph::optimise
