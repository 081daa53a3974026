#pragma once

#include "schedule/propose.h"

namespace kawara::schedule {

/// The values that a statement goes through with part of what identifies its iterations: the rows
/// of the first `depth` loops around it, and the index of the element that it writes.
struct ElementKeys {
  poly::StmtId model;
  size_t depth = 0;
  std::vector<scalar::Expr> keys; ///< over the iterators of the model
  std::vector<std::string> names;
  std::vector<scalar::Expr> element; ///< the index, over the keys
  isl::set domain;                   ///< all values; without a tuple name
};
ElementKeys element_keys(const Proposal&, poly::StmtId model, size_t depth);

/// Adds a statement that runs once for each value of the keys (Iter k: key k), and returns it
/// inside loops of its own, for a place below the first `depth` loops around the model in `order`.
/// The loops are those of the model as far as the keys tell their values, then loops over the
/// element. `text` needs tensor, index, op and value.
poly::TreeNode add_element_statement(Proposal&, const ElementKeys&, program::Statement text);

} // namespace kawara::schedule
