#pragma once

#include "poly/order.h"
#include "poly/scop.h"

namespace kawara::kernel {

/// How isl makes loops.
struct LoopForm {
  bool keeps_iterations = false; ///< poly/isl/ast.h
  /// One loop for each of the order's, with conditions inside, instead of one for each case of its
  /// bounds.
  bool is_whole = false;
};

/// The loops that isl makes of an order, below marks that name them; iterators are called $0, $1,
/// ... Null when there are no statements.
isl::ast_node ast_from_order(const poly::Scop&, const poly::Order&, const LoopForm&);

/// The same, whole where the cases of bounds would make very many loops: each of them is a tile of
/// code, and code beyond all measure takes minutes to compile.
isl::ast_node ast_of_few_cases(const poly::Scop&, const poly::Order&, bool keeps_iterations);

/// The loop that a mark of the tree names.
poly::LoopId loop_of_mark(const isl::id&);

} // namespace kawara::kernel
