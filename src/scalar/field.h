#pragma once

#include "scalar/algebra.h"

#include <array>
#include <unordered_map>

namespace kawara::scalar {

/// Data as elements of a finite ring instead of numbers: what is equal by the laws of algebra is
/// equal here to the last bit, whatever the order of operations; what is not, differs, but for one
/// chance in 10^9.
///
/// An element is a pair (x, y) of remainders modulo two primes, p = 2q + 1 and q. Sums, products
/// and quotients (by the inverse; that of 0 is 0) are exact. exp(x, y) is (g^y, 1) with g of order
/// q modulo p, so that exp(a + b) = exp(a) * exp(b), which a softmax in one pass needs. sigmoid and
/// silu are what they are made of, as are rsqrt and small whole powers. All other functions (and a
/// float that becomes an integer, an integer quotient of data) are tables: a hash of the operation
/// and its operands. Elements have a total order, by hash as well, which max, min and comparisons
/// follow; small whole numbers keep theirs, and the ends of a float type are next to the
/// infinities.
///
/// Conversions between float types, between integer types and from integers to floats keep the
/// element: rounding, wrapping and saturation are not seen. A literal is the quotient of small
/// whole numbers that it is but for a few roundings, so that constants may be folded. Infinities
/// are what they are for floats. Integers that do not depend on data stay numbers. Not by several
/// threads at once.
class Field final : public Algebra {
public:
  explicit Field(uint64_t seed);

  Value literal(double) const override;
  std::optional<Value> apply(BinaryOp, Elem, Value, Value) const override;
  Value apply(UnaryOp, Elem, Value) const override;
  Value apply_fma(Elem, Value a, Value b, Value c) const override;
  Value convert(Elem from, Elem to, Value) const override;

  /// A random element of that type, the same for the same key: an element; for Bool, false or true.
  Value random(Elem, uint64_t key) const;
  /// Whether two elements of that type hold the same. NaN is the same as itself.
  bool is_same(Elem, Value, Value) const;

private:
  static Value element_of(double);
  Value table(uint64_t which, Value a, Value b) const;
  uint64_t rank(Value) const;
  Value exponential(Value) const;
  Value power(Value, Value) const;
  Value function(UnaryOp, Value) const;
  Value rounded(uint64_t which, Value) const;
  bool is_less(Value, Value) const;
  std::optional<Value> on_elements(BinaryOp, Value, Value) const;

  uint64_t seed_;
  mutable std::unordered_map<uint64_t, Value> literals_; ///< by their bits
  std::array<Value, 2> low_, high_;                      ///< the ends of f32 and f64
};

} // namespace kawara::scalar
