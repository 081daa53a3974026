#include "program/operators/broadcast.h"
#include "program/operators/registry.h"

namespace kawara::program::operators {
namespace {
namespace of_inverse {

/// A function that programs have no name for, as a formula in f32 of functions that they have: at
/// most 4 units in the last place off (tests/unit/driver/operators/inverse_functions_test.cpp).
/// Terms in p are never -0, so that a zero keeps its sign in r + r * p. tools/fit_polynomial.py
/// finds the coefficients.
struct Formula {
  std::string_view name;
  const char* text; ///< of the body of `def f(x)`
};

/// What is left of the argument is at most 1/2, or the root of half of what is missing to 1.
#define KAWARA_ARC_SINE                                                                            \
  "  let a = abs(x)\n"                                                                             \
  "  let is_small = a <= 0.5\n"                                                                    \
  "  let r = select(is_small, x, sqrt(0.5 - 0.5 * a))\n"                                           \
  "  let z = select(is_small, a * a, 0.5 - 0.5 * a)\n"                                             \
  "  let p = z * (0.166667521 + z * (0.0749531165 + z * (0.0454687625 + z * (0.0241869148 +\n"     \
  "          z * 0.042154517))))\n"                                                                \
  "  let y = r + r * p\n"

constexpr Formula kFormulas[] = {
    {"Acos", KAWARA_ARC_SINE "  return select(is_small, 1.57079637 - (y - 4.37113883e-08),\n"
                             "                select(x > 0, 2 * y, 3.14159274 - 2 * y))\n"},
    {"Acosh",
     "  let z = x - 1\n"
     "  let p = 1.41421354 + z * (-0.117847741 + z * (0.0264572538 + z * (-0.00753357401 +\n"
     "          z * 0.00176528376)))\n"
     // Beyond 1e9 the root is x, and the square may be infinite.
     "  let is_far = x > 1e9\n"
     "  let sum = select(is_far, x, x + sqrt(z * (x + 1)))\n"
     "  return select(z < 0.5, sqrt(z) * p, log(sum) + select(is_far, 0.693147182, 0))\n"},
    {"Asin", KAWARA_ARC_SINE "  let far = 1.57079637 - (2 * y + 4.37113883e-08)\n"
                             "  return select(is_small, y, select(x < 0, -far, far))\n"},
    {"Asinh", "  let a = abs(x)\n"
              "  let z = x * x\n"
              "  let p = 0 - z * (0.166666657 + z * (-0.0749990717 + z * (0.0446160957 +\n"
              "          z * (-0.0300335698 + z * (0.0200495869 - z * 0.00925663859)))))\n"
              "  let is_far = a > 1e9\n"
              "  let sum = select(is_far, a, a + sqrt(z + 1))\n"
              "  let far = log(sum) + select(is_far, 0.693147182, 0)\n"
              "  return select(a <= 0.5, x + x * p, select(x < 0, -far, far))\n"},
    {"Atan",
     // tan(3 pi/8), tan(pi/8): the argument is turned by a quarter or an eighth of a circle.
     "  let a = abs(x)\n"
     "  let is_far = a > 2.41421366\n"
     "  let is_near = not (a > 0.414213568)\n"
     "  let up = select(is_far, -1, select(is_near, x, a - 1))\n"
     "  let down = select(is_far, a, select(is_near, 1, a + 1))\n"
     "  let r = up / down\n"
     "  let z = r * r\n"
     "  let p = 0 - z * (0.333333164 + z * (-0.199985281 + z * (0.142443925 +\n"
     "          z * (-0.105991915 + z * 0.0609013885))))\n"
     "  let y = r + r * p\n"
     "  let turned = select(is_far, 1.57079637, 0.785398185) + y\n"
     "  return select(is_near, y, select(x < 0, -turned, turned))\n"},
    {"Atanh",
     "  let z = x * x\n"
     "  let p = z * (0.333333015 + z * (0.200024515 + z * (0.142238259 + z * (0.118160069 +\n"
     "          z * (0.0516194329 + z * 0.176356941)))))\n"
     "  return select(abs(x) <= 0.5, x + x * p, 0.5 * log((1 + x) / (1 - x)))\n"},
    // The half of the argument is exact, and the square of its exponential does not overflow before
    // the result does.
    {"Cosh", "  let t = exp(0.5 * abs(x))\n"
             "  return (0.5 * t) * t + 0.5 / (t * t)\n"},
    {"Sinh", "  let z = x * x\n"
             "  let p = z * (0.166667163 + z * (0.00833027437 + z * 0.000203728312))\n"
             "  let t = exp(0.5 * abs(x))\n"
             "  let far = (0.5 * t) * t - 0.5 / (t * t)\n"
             "  return select(abs(x) <= 1, x + x * p, select(x < 0, -far, far))\n"},
    {"Tan", "  return sin(x) / cos(x)\n"},
};
#undef KAWARA_ARC_SINE

/// f64 has more digits than the formulas: the C library's functions are called.
void inverse(Definition& d) {
  if (!d.need(0))
    return;
  if (d.type(0) == DataType::F64 || !graph::is_float(d.type(0)))
    return d.decline();
  for (const Formula& formula : kFormulas) {
    if (formula.name != d.node().op)
      continue;
    d.add_line(std::string("def f(x):\n") + formula.text);
    Elementwise x(d, 1);
    x.store(d.type(0), "f(" + x[0] + ")");
  }
}

constexpr Operator kAll[] = {{"Acos", inverse},  {"Acosh", inverse}, {"Asin", inverse},
                             {"Asinh", inverse}, {"Atan", inverse},  {"Atanh", inverse},
                             {"Cosh", inverse},  {"Sinh", inverse},  {"Tan", inverse}};

} // namespace of_inverse
} // namespace

std::span<const Operator> inverse_operators() { return of_inverse::kAll; }

} // namespace kawara::program::operators
