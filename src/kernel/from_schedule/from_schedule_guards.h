#pragma once

#include "poly/scop.h"

#include <map>

namespace kawara::kernel {

/// A scop whose domains isl makes loops for without joining what must stay apart: statements with a
/// domain that it would join wrongly run over a set around it, each iteration under a condition on
/// the statement's iterators.
struct Guarded {
  poly::Scop scop;
  std::map<uint32_t, scalar::Expr> conditions; ///< by number of the statement
};
Guarded guarded(const poly::Scop&);

} // namespace kawara::kernel
