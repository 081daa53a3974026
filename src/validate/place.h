#pragma once

#include "kernel/kernel.h"

#include <map>
#include <vector>

namespace kawara::validate {

/// Where a walk over a kernel's body is. The loops around are dimensions, outermost first: Iter d is the variable of loop d.
struct Place {
  size_t loops = 0;                   ///< around the current statement
  std::vector<uint32_t> vars = {};    ///< of these loops
  std::vector<uint32_t> numbers = {}; ///< of these loops in the kernel: two loops have two numbers
  std::vector<scalar::Expr> conditions = {}; ///< in dimensions; empty: not known
  /// Of index variables, in dimensions; empty: not known.
  std::map<uint32_t, scalar::Expr> values = {};

  /// In dimensions in place of variables; nothing where a variable has no known value or a cell is read.
  scalar::Expr in_dimensions(const scalar::Expr&) const;
  /// The same of an expression of an origin: Iter n, the n-th point, becomes the dimension after those of the loops.
  scalar::Expr of_origin(const scalar::Expr&) const;
};

} // namespace kawara::validate
