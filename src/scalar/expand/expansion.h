#pragma once

#include "scalar/expr.h"

#include <functional>
#include <string_view>

namespace kawara::scalar {

/// Gives a value that a formula uses more than once a name: returns what stands for it from then
/// on. Returning `value` itself is right as well; shared nodes are then shared.
using Let = std::function<Expr(std::string_view name, Expr value)>;

/// Whether `expand` has a formula for the function on this element type (f32 only).
bool has_expansion(UnaryOp, Elem);

/// `op(x)` as arithmetic without calls and branches, for any number of lanes: arguments are
/// reduced, a polynomial or a quotient of two is evaluated, and the result put together. gelu looks
/// its polynomial up in a table.
///
/// `Accurate`: at most 2 units in the last place from the value of the function at the float `x`,
/// for every x: also where x or the result is denormal, infinite or zero (the sign of a zero is
/// right), and NaN for NaN. The bound holds when fma and division are rounded correctly and
/// operations are not reordered; merging a product and a sum into one fma does no harm.
///
/// exp(nan_min(0, x)) is for an x that is known not to be positive (kernel/math/bounded_exp), and
/// cheaper than exp(x): its result does not overflow. The formula leaves nan_min out.
///
/// exp(nan_min(0, x)) * kExpBelowZeroScale (kernel/math/scaled_exp) is cheaper still, and so is
/// unshifted_exp(x) * kRowExpScale (kernel/math/unshifted_exp).
///
/// `Quick` differs for erf (3 units) and gelu, which is within 2^-23 of |x| but loses the digits of
/// its lower tail, as computing 0.5 * x * (1 + erf(x / sqrt(2))) in f32 does.
enum class Accuracy : uint8_t { Accurate, Quick };

/// What floats below the smallest normal one cost. `Slow`: a product or quotient that is one, or
/// that is nothing for being still smaller, takes a hundred times as long as another (x86-64), and
/// so does one of them as a factor. Formulas then multiply by zero what would come to nothing; exp
/// and gelu come to denormal results by a sum and a subtraction of integers. Values are the same.
enum class Denormals : uint8_t { Fast, Slow };

Expr expand(UnaryOp op, const Expr& x, Accuracy accuracy, const Let& let,
            Denormals denormals = Denormals::Fast);

constexpr double kExpBelowZeroScale = 0x1.3504f4p64;
/// In place of kExpBelowZeroScale for exponentials of differences x - m that are only ever seen
/// beside others with the same m. All of them may be as many times larger or smaller. With
/// kLargestUnshifted: the smallest that counts is well above the smallest normal number, and a sum
/// of 2^40 of the largest does not overflow.
constexpr double kRowExpScale = 0x1p-6 * kExpBelowZeroScale;
/// Where the largest of the x is at most this far from zero, m need not be subtracted.
constexpr double kLargestUnshifted = 20;

/// Whether this is exp(nan_min(0, x)).
bool is_exp_below_zero(const Expr&);
/// Of exp(x - m), m an element: m, as it is loaded; null for everything else.
const Load* element_below_exp(const Expr&);
/// Of exp(nan_min(0, x - m)): m, in one lane; else empty.
Expr subtrahend_in(const Expr&);
/// exp(x), and for x below -124.5 as there.
Expr unshifted_exp(const Expr& x);
/// Whether this is a product that `expand_scaled_exp` has a formula for.
bool is_scaled_exp(const Expr&);
/// Where denormals are slow, what is nothing beside the largest of a row is zero: it would become
/// nothing, slowly, when it is divided by the row's sum.
Expr expand_scaled_exp(const Expr&, const Let& let, Denormals denormals = Denormals::Fast);
/// Whether this is that number, in all lanes.
bool is_number(const Expr&, double value);

} // namespace kawara::scalar
