#pragma once

#include "scalar/expr.h"

#include <functional>
#include <optional>

namespace kawara::scalar {

/// A number: `f` holds it when the type is a float, `i` otherwise (Bool is 0 or 1).
union Value {
  int64_t i;
  double f;
};
inline Value int_value(int64_t i) { return Value{.i = i}; }
inline Value float_value(double f) { return Value{.f = f}; }

/// `a op b` and `op a` on values of type `elem` (the operands' type), rounded or wrapped to it.
/// Comparisons give 0 or 1. Empty for an integer division by zero and an index that is not within
/// its extent.
///
/// Functions are evaluated in f64 and rounded once. `round` goes to the nearest even integer,
/// `sigmoid(x)` is 1/(1 + exp(-x)), `rsqrt(x)` is 1/sqrt(x); `silu`, `gelu` and `gelu_tanh` are
/// -0 at minus infinity, their limit.
std::optional<Value> apply(BinaryOp op, Elem elem, Value a, Value b);
Value apply(UnaryOp op, Elem elem, Value a);
Value apply_fma(Elem elem, Value a, Value b, Value c); ///< a * b + c, rounded once

/// `v` of type `from` as a value of type `to`. Float to integer drops the fraction, saturates at
/// the ends of i64 (NaN gives 0) and then wraps; anything to Bool asks whether it differs from 0.
Value convert(Elem from, Elem to, Value v);

/// What the leaves of an expression stand for. An empty answer makes the whole evaluation empty.
/// A callback that cannot be asked for (no Iters occur, say) may be left out.
struct Leaves {
  std::function<std::optional<Value>(uint32_t)> iter, param, var;
  std::function<std::optional<Value>(const Load&, const std::vector<int64_t>& index, Elem)> load;
};

/// Value of `e`; of lane `lane` when `e` is a vector. Empty for an integer division by zero, an
/// index outside of its extent, or when a leaf gave none. Select evaluates only the chosen side;
/// And and Or evaluate both sides.
std::optional<Value> evaluate(const Expr& e, const Leaves& leaves, int lane = 0);

/// Value of an i64 or Bool expression over iterators and parameters; empty as above.
std::optional<int64_t> evaluate_index(const Expr& e, const std::vector<int64_t>& iters,
                                      const std::vector<int64_t>& params);

} // namespace kawara::scalar
