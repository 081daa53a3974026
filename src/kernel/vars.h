#pragma once

#include "kernel/kernel.h"

#include <set>

namespace kawara::kernel {

using VarSet = std::set<uint32_t>;

/// Variables that an expression reads.
VarSet vars_in(const Expr&);
bool mentions(const Expr&, uint32_t var);
bool mentions_any(const Expr&, const VarSet& vars);

/// Variables that a block (or statement) gives values to: of loops, by Define and by Assign.
VarSet vars_set_in(const Block&);
VarSet vars_set_in(const Stmt&);

/// Reads of `var` become `value`; the results are simplified.
Expr substitute_var(const Expr&, uint32_t var, const Expr& value);
Block substitute_var(const Block&, uint32_t var, const Expr& value);

/// What all iterations of the loop run, at once.
Origins over_loop(Origins, const For&);

/// A copy whose own Defines and Combines (not those of blocks inside it) name new variables, so
/// that it may stand beside the original in one block.
Block with_fresh_defines(Kernel&, const Block&);

/// The variable as an expression.
inline Expr var_expr(const Kernel& kernel, uint32_t id) {
  return scalar::var(id, kernel.variables[id].type);
}

/// Buffers that are stored to (or zeroed) anywhere in the block (or statement).
std::set<uint32_t> buffers_stored_in(const Block&);
std::set<uint32_t> buffers_stored_in(const Stmt&);
/// Does the expression read memory?
bool has_load(const Expr&);

} // namespace kawara::kernel
