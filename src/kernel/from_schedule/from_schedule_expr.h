#pragma once

#include "scalar/expr.h"

#include <isl/cpp.h>

#include <functional>
#include <string>

namespace kawara::kernel {

/// What an isl identifier (a parameter or a loop iterator) stands for.
using Lookup = std::function<scalar::Expr(const std::string& name)>;

/// An isl AST expression as an i64 or Bool expression, simplified. Divisions round towards minus
/// infinity; where isl knows that the dividend is not negative or that only zero matters, that is
/// the same.
scalar::Expr expr_from_ast(const isl::ast_expr&, const Lookup&);

/// The same of a condition: Bool.
scalar::Expr condition_from_ast(const isl::ast_expr&, const Lookup&);

/// Arguments of a call (a statement's iterators), converted.
std::vector<scalar::Expr> call_arguments(const isl::ast_expr& call, const Lookup&);
/// Name of the called statement.
std::string called_name(const isl::ast_expr& call);

} // namespace kawara::kernel
