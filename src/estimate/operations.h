#pragma once

#include "scalar/expr.h"

#include <map>

namespace kawara::estimate {

/// Arithmetic by the type of its operands as they lie in memory: products of i8 that are added up
/// in i32 are operations of i8, because that is what an instruction for them takes.
using OperationsByType = std::map<scalar::Elem, double>;

/// Operations of evaluating an expression once, that of the update it is the value of included.
/// Each arithmetic operation and each function counts one; comparisons, casts and arithmetic of
/// indices (whatever holds no element of a tensor, or says where one lies) none; of a select the
/// dearer side.
OperationsByType operations_of(const scalar::Expr&, scalar::ReduceOp = scalar::ReduceOp::None);

double floats_of(const OperationsByType&);   ///< those of floats
double integers_of(const OperationsByType&); ///< those of integers

/// Whether the value depends on an element of a tensor, not counting those that only say where
/// others lie.
bool is_data(const scalar::Expr&);

/// Type of an operation in the sense above: the widest that its operands have before they are
/// widened.
scalar::Elem operand_type(const scalar::Expr&);

} // namespace kawara::estimate
