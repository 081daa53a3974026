#pragma once

#include "scalar/eval.h"
#include "scalar/reduce_op.h"

namespace kawara::scalar {

/// What the operations of expressions do with values. Interpreters that take one run on numbers as
/// the language means them, or on something else with the same laws (field.h).
///
/// Indices, conditions and Bools are numbers in every algebra: int_value, with operations as eval.h
/// has them.
class Algebra {
public:
  Algebra() = default;
  Algebra(const Algebra&) = delete;
  Algebra& operator=(const Algebra&) = delete;
  virtual ~Algebra() = default;

  virtual Value literal(double) const = 0; ///< of a float type
  /// As in eval.h; `elem` is the operands' type.
  virtual std::optional<Value> apply(BinaryOp, Elem, Value, Value) const = 0;
  virtual Value apply(UnaryOp, Elem, Value) const = 0;
  virtual Value apply_fma(Elem, Value a, Value b, Value c) const = 0;
  virtual Value convert(Elem from, Elem to, Value) const = 0;

  Value zero(Elem elem) const { return is_float(elem) ? literal(0.0) : int_value(0); }
  /// `a op b` of an update or a horizontal reduction; `op` is not None.
  Value reduce(ReduceOp op, Elem elem, Value a, Value b) const {
    return *apply(operation_of(op), elem, a, b);
  }
};

/// What the language means: the functions of eval.h.
const Algebra& numbers();

/// `evaluate` of eval.h in another algebra.
std::optional<Value> evaluate(const Expr&, const Leaves&, const Algebra&, int lane = 0);

} // namespace kawara::scalar
