#pragma once

#include "graph/optimise/attention/find_attention.h"

namespace kawara::graph::optimise {

/// An operand of one Attention: operators that make it of its base.
struct FormedOperand {
  ValueId base = kAbsent;
  std::vector<ViewOp> ops;
  Shape shape; ///< as of `extents_of`
};

/// How attention is written as one node: which of its dimensions are batches, which heads, and how
/// these lie.
struct AttentionForm {
  bool is_flat =
      false; ///< [batch, rows, heads * elements], otherwise [batch, heads, rows, elements]
  int64_t query_heads = 0, heads = 0; ///< heads: of keys and values
  FormedOperand query, key, value;
  std::vector<FormedOperand>
      masks; ///< [batch or 1, heads or 1, queries or 1, keys or 1], without leading 1
  std::optional<FormedOperand> chosen;
  Shape result_shape;
  std::vector<ViewOp> result; ///< what makes the output of `last` of the result
  size_t last = 0;            ///< the last node that goes
  std::vector<size_t> behind; ///< nodes from the product with the values to that one
};

/// The form that moves the fewest values. Heads of keys that were repeated for several of queries
/// are not any more. Nothing where no form can be written.
std::optional<AttentionForm> attention_form(const Edit&, const ValueTypes&, const AttentionParts&);

} // namespace kawara::graph::optimise
