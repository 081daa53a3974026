#pragma once

#include "poly/isl/context.h"
#include "poly/scop.h"
#include "scalar/expr.h"

#include <optional>

namespace kawara::poly {

/// { S[iters] } with the scop's parameters: the universe that a statement's expressions live in.
isl::set statement_universe(isl::ctx, const std::vector<program::Param>&, const std::string& tuple,
                            size_t iters);

/// Quasi-affine index expression as a function on `domain` (Iter d: dimension d).
isl::pw_aff pw_aff_from_expr(const scalar::Expr&, const isl::set& domain,
                             const std::vector<program::Param>&);
/// The same as one function on the whole of a space, divisions included; nothing where it has cases
/// (min, max, select). Far cheaper than functions with domains, which isl intersects at each step.
std::optional<isl::aff> plain_function(const scalar::Expr&, const isl::space& domain,
                                       const std::vector<program::Param>&);
/// { x -> y : x in domain, y = functions(x) }, of the spaces of `domain` and `range` (which is
/// everything).
isl::map map_from_exprs(const std::vector<scalar::Expr>& functions, const isl::set& domain,
                        const isl::set& range, const std::vector<program::Param>&);
/// { S[x] -> [f0(x), f1(x), ...] } on `domain`.
isl::map map_of(const std::vector<scalar::Expr>& functions, const isl::set& domain,
                const std::vector<program::Param>&);
/// Points of `domain` where a quasi-affine condition holds.
isl::set set_from_condition(const scalar::Expr&, const isl::set& domain,
                            const std::vector<program::Param>&);
/// The inverse: what holds in the set's points and nowhere else.
scalar::Expr condition_from_set(const isl::set&, const std::vector<program::Param>&);
/// Expression of an affine function (one piece, integer divisions allowed) over iterators and
/// parameters; the inverse of `pw_aff_from_expr` up to spelling. Empty when it has several pieces
/// or rational coefficients that do not fit.
scalar::Expr expr_from_pw_aff(const isl::pw_aff&, const std::vector<program::Param>&);

/// The statement's rows as functions on its domain, outermost first.
std::vector<isl::pw_aff> row_functions(const Scop&, const Order&, StmtId);

/// "N >= 4 and T >= 2": the parameter set without isl's brackets, minus what `context` says; empty:
/// always.
std::string condition_text(const isl::set& params, const isl::set& context);

} // namespace kawara::poly
