#pragma once

#include "scalar/expand/expansion.h"
#include "scalar/table.h"

#include <initializer_list>
#include <vector>

// For scalar/expand_*: the words that formulas are written in.

namespace kawara::scalar {

constexpr double kLeastNormal = 0x1p-126; ///< of f32

/// Makes terms of one vector (or scalar) type.
class Formula {
public:
  Formula(Type type, const Let& let, Denormals denormals = Denormals::Fast)
      : type_(type), let_(let), denormals_(denormals) {}

  bool avoids_denormals() const { return denormals_ == Denormals::Slow; }

  Expr number(double value) const { return float_lit(value, type_); }
  /// An integer as wide as the floats.
  Expr integer(int64_t value) const {
    return int_lit(value, {type_.elem == Elem::F32 ? Elem::I32 : Elem::I64, type_.lanes});
  }
  Expr let(std::string_view name, Expr value) const { return let_(name, std::move(value)); }

  /// a * b + c, and c - a * b, with one rounding.
  Expr add_product(const Expr& c, const Expr& a, const Expr& b) const { return fma(a, b, c); }
  Expr sub_product(const Expr& c, const Expr& a, const Expr& b) const {
    return fma(unary(UnaryOp::Neg, a), b, c);
  }
  /// `x` kept between two numbers; NaN stays.
  Expr at_least(const Expr& x, double low) const {
    return binary(BinaryOp::NanMax, number(low), x);
  }
  Expr at_most(const Expr& x, double high) const {
    return binary(BinaryOp::NanMin, number(high), x);
  }

  /// a * b in f32, positive and neither of them denormal. Lanes in which `is_small` holds have
  /// results below the smallest normal number. Where denormals are slow these are rounded beside
  /// that number, in the bits of whose mantissa they stand then.
  Expr small_product(const Expr& a, const Expr& b, const Expr& is_small) const;
  /// `factor`, and where denormals are slow zero in lanes whose product would come to nothing: that
  /// is as quick as any other.
  Expr zero_where(const Expr& is_nothing, const Expr& factor) const;
  Expr is_below(const Expr& x, double limit) const {
    return binary(BinaryOp::Lt, x, number(limit));
  }
  Expr is_above(const Expr& x, double limit) const {
    return binary(BinaryOp::Gt, x, number(limit));
  }

  /// c[0] + c[1] * x + c[2] * x * x + ... with `xx` = x * x. Terms are taken in pairs: half the
  /// latency of Horner's rule, and machines whose fma overwrites its sum copy half the constants.
  Expr polynomial(const std::vector<double>& c, const Expr& x, const Expr& xx) const;

  /// Column `number` of the table in the row (an integer) that each lane names.
  Expr looked_up(Table table, size_t number, const Expr& row) const {
    return unary(UnaryOp::FromBits, instruction(name_of(Column{table, number}), {row}));
  }

  /// The float with this biased exponent (in the low bits) and mantissa 1.
  Expr power_of_two(const Expr& exponent) const {
    return unary(UnaryOp::FromBits, exponent * integer(lowest_exponent_bit()));
  }
  int64_t lowest_exponent_bit() const { return int64_t{1} << (type_.elem == Elem::F32 ? 23 : 52); }
  /// The same words for f64, and a value in them.
  Formula in_f64() const { return Formula({Elem::F64, type_.lanes}, let_); }
  Expr widened(const Expr& x) const { return cast(x, {Elem::F64, type_.lanes}); }
  Expr narrowed(const Expr& x) const { return cast(x, {Elem::F32, type_.lanes}); }

private:
  Type type_;
  const Let& let_;
  Denormals denormals_;
};

/// exp(z) = (1 + part) * high * low, where `high` and `low` are powers of two of about equal size,
/// so that neither overflows where the product does not.
struct Exponential {
  Expr part;
  Expr high;
  Expr exponent_of_low; ///< biased; its upper bits are not zero
};

/// exp(z), or exp(-z) when `negate`, in f32 for -125 <= z <= 125 (about); the argument is z -
/// excess when that is given. `part` is within 2^-26.
Exponential exponential(const Formula&, const Expr& z, bool negate, const Expr& excess = Expr());

/// (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2, largest error 2^-28 of exp(r).
const std::vector<double>& exponential_coefficients();

// One file per family.
Expr expand_exp(const Formula&, const Expr& x);
Expr expand_exp_below_zero(const Formula&, const Expr& x); ///< exp(x) for x <= 0
/// exp(z) * scale, the latter kExpBelowZeroScale times a power of two, where the result is a normal
/// number.
Expr scaled_exp(const Formula&, const Expr& z, double scale);
Expr expand_sigmoid(const Formula&, const Expr& x);
Expr expand_silu(const Formula&, const Expr& x);
Expr expand_tanh(const Formula&, const Expr& x);
Expr expand_sin(const Formula&, const Expr& x);
Expr expand_cos(const Formula&, const Expr& x);
Expr expand_log(const Formula&, const Expr& x);
Expr expand_erf(const Formula&, const Expr& x);
Expr expand_erf_quickly(const Formula&, const Expr& x);
Expr expand_gelu(const Formula&, const Expr& x);
Expr expand_gelu_quickly(const Formula&, const Expr& x);
Expr expand_gelu_tanh(const Formula&, const Expr& x);

} // namespace kawara::scalar
