#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// The expressions of the statement itself, not those of its blocks. For walks that keep track of
/// where they are; the others are in kernel.h.
void visit_own_exprs(const Stmt&, const std::function<void(const Expr&)>& f);
Stmt map_own_exprs(const Stmt&, const std::function<Expr(const Expr&)>& f);

/// Applies `f` to the expressions of all origins, which are no code: no other walk sees them.
Block map_origins(const Block&, const std::function<Expr(const Expr&)>& f);

} // namespace kawara::kernel
