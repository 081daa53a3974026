#pragma once

#include "graph/optimise/edit.h"
#include "graph/optimise/value_types.h"
#include "graph/optimise/value_view.h"

#include <optional>
#include <vector>

namespace kawara::graph::optimise {

/// softmax(scale * query * key^T + masks) * value, written out in several nodes, whose only readers
/// are each other. Operands are views, so that it does not matter how heads were taken apart, keys
/// transposed, or heads of keys repeated for several of queries.
struct AttentionParts {
  size_t last = 0;          ///< the product with the values
  std::vector<size_t> gone; ///< nodes that one Attention replaces, the last among them
  Shape
      scores; ///< as of `extents_of`: batches and heads in any number of dimensions, queries, keys
  views::StridedView result;   ///< of the last node, from [all but the last two of `scores` as one,
                               ///< queries, elements]
  ValueView query, key, value; ///< [batches and heads as one, rows, elements]
  std::vector<ValueView> masks; ///< [batches and heads as one, queries, keys]; added
  double scale = 1;
  bool is_causal = false;
  /// A mask by choice: scores where `chosen` is true (or, `keeps_false`, where it is not),
  /// `otherwise` elsewhere.
  std::optional<ValueView> chosen;
  ValueId otherwise = kAbsent;
  bool keeps_false = false;
  /// Weights that are no numbers, of queries that no key is shown to, count as zeros.
  bool zeroes_nan = false;
};

/// What ends in this Softmax and the product after it; nothing when the nodes compute something
/// else, or when types are not known. A mask counts as causal where it is constant and hides later
/// keys completely.
std::optional<AttentionParts> find_attention(const Edit&, const ValueTypes&, size_t softmax);

} // namespace kawara::graph::optimise
