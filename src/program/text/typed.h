#pragma once

#include "scalar/expr.h"
#include "support/source.h"

namespace kawara::program {

// Types of values.
//
// A value is strong when its type is settled (loads, casts, conditions) and weak while it is made
// of literals, loop variables and parameters only. A weak value takes the type of what it meets:
//   weak integer (held as i64)   becomes the i32, i64, f32 or f64 of the other operand
//   weak float   (held as f64)   becomes the f32 or f64 of the other operand
// An integer that meets a weak float, or is the argument of a float function, is a weak float too:
// its precision is still open. The target of an assignment settles what is left; where nothing
// does (comparisons, casts), weak floats compute in f64 and weak integers in i64.
// Loads of f16 and bf16 are f32 values, loads of i16, i8 and u8 are i32; two strong operands
// compute in the wider type, float before integer.
enum class Weak : uint8_t { No, Integer, Float };

struct Value {
  scalar::Expr expr; ///< empty: an error was reported already
  Weak weak = Weak::No;
  uint32_t size = 1; ///< nodes of the expression, shared ones counted each time
  Span where;

  explicit operator bool() const { return bool(expr); }
  scalar::Elem elem() const { return expr.type().elem; }
  bool is_bool() const { return elem() == scalar::Elem::Bool; }
  bool is_float() const { return scalar::is_float(elem()); }
};

/// The value in the compute type `to`: literals are rewritten, the rest is cast. Conditions become
/// 0 or 1. The size is an upper bound.
scalar::Expr converted(const Value&, scalar::Elem to);

/// The type two operands meet in, and whether the result is still weak.
struct Meeting {
  scalar::Elem elem;
  Weak weak;
};
Meeting meet(const Value&, const Value&);

/// Strong float values stay; integers become weak floats.
Value as_float(Value);

/// Integer literals are folded when the result fits; otherwise the operation in the met type.
Value arithmetic(scalar::BinaryOp, const Value&, const Value&, Span);
Value negated(const Value&, Span);

/// Literal of a weak integer, if that is what the value is.
std::optional<int64_t> literal_of(const Value&);

/// Folds two integers; empty when the operation overflows or divides by zero.
std::optional<int64_t> fold(scalar::BinaryOp, int64_t, int64_t);

} // namespace kawara::program
