#include "unit/run/hand_kernel.h"

#include "kernel/math/exact_functions.h"
#include "kernel/math/expand_math.h"
#include "kernel/walk.h"
#include "scalar/eval.h"
#include "scalar/expand/expansion.h"
#include "scalar/table.h"
#include "target/cpu.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>

// Functions as arithmetic: the compiled formulas against f64 functions of the C library, over the
// whole range of f32.

namespace kawara::run {
namespace {

using program::Numerics;
using scalar::UnaryOp;

constexpr uint16_t kLanes = 4;
constexpr float kInfinityF = std::numeric_limits<float>::infinity();

/// Every exponent and sign, 2^13 mantissas each: the ends of the binade and a walk between them
/// that is not the same for two exponents. Then what formulas trip over.
std::vector<float> samples() {
  std::vector<float> x;
  constexpr uint32_t kMantissas = 1U << 13;
  for (uint32_t top = 0; top < 512; ++top)
    for (uint32_t i = 0; i < kMantissas; ++i) {
      const uint32_t walk = i * 1021U + top * 7919U;
      const uint32_t mantissa = i == 0 ? 0 : i == 1 ? 0x7fffffU : walk & 0x7fffffU;
      x.push_back(std::bit_cast<float>(top << 23 | mantissa));
    }
  for (const float special :
       {0.0F, 1.0F, 0.5F, 0x1p-149F, 0x1p-126F, 0x1.fffffcp-127F, 0x1.fffffep127F, kInfinityF,
        std::numeric_limits<float>::quiet_NaN(), 88.72284F, 88.72283F, 87.336544F, 103.97208F,
        103.97207F, 104.0F, 9.01F, 3.9192059F, 14.5F, 0.34657359F})
    for (const float sign : {1.0F, -1.0F})
      x.push_back(std::copysign(special, sign));
  // Where functions bend, sampled much more densely than a binade is above.
  for (int32_t i = -540000; i <= 400000; ++i)
    x.push_back(static_cast<float>(i) * 2.7e-5F);
  while (x.size() % kLanes != 0)
    x.push_back(1.0F);
  return x;
}

/// Formulas of any processor can be run on this one.
target::Cpu formulas_of(const char* name) { return *target::named_cpu(name); }

kernel::Kernel map_kernel(UnaryOp op, Numerics numerics, int64_t n, uint16_t lanes,
                          const target::Cpu& cpu = target::detect_cpu()) {
  HandKernel h;
  h.kernel.numerics = numerics;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(n)}),
                 B = h.buffer("B", Elem::F32, {int_lit(n)});
  const uint32_t i = h.variable("i");
  const Expr at = scalar::ramp(h.var(i), 1, lanes);
  h.kernel.body = {
      loop(i, int_lit(0), int_lit(n), {store(B, {at}, scalar::unary(op, h.load(A, {at})))}, lanes)};
  return kernel::expand_math(h.kernel, cpu);
}

std::vector<float> mapped(UnaryOp op, Numerics numerics, std::vector<float> x, uint16_t lanes,
                          const target::Cpu& cpu = target::detect_cpu()) {
  std::vector<float> y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  call(loaded(map_kernel(op, numerics, n, lanes, cpu)), {x.data(), y.data()});
  return y;
}

/// Distance in units in the last place of the exact value (of the smallest normal below it).
double units_apart(float got, double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VAL;
  const auto nearest = static_cast<float>(want);
  if (nearest == 0 && got == 0 && std::signbit(got) != std::signbit(want))
    return HUGE_VAL;
  // A result may be the largest number where infinity is nearest, or the other way round.
  constexpr double kLargest = 0x1.fffffep127;
  const auto finite = [](double v) {
    return std::isinf(v) || std::fabs(v) > 0x1p128 ? std::copysign(0x1p128, v) : v;
  };
  if (std::isinf(want) != std::isinf(got) && std::fabs(want) < kLargest)
    return HUGE_VAL;
  int exponent = 0;
  std::frexp(finite(want), &exponent);
  return std::fabs(finite(static_cast<double>(got)) - finite(want)) /
         std::ldexp(1.0, std::max(want == 0 ? -125 : exponent, -125) - 24);
}

double reference(UnaryOp op, float x) {
  return scalar::apply(op, Elem::F64, scalar::float_value(static_cast<double>(x))).f;
}

/// Largest distance over all samples; `at` is where.
double worst(UnaryOp op, const std::vector<float>& x, const std::vector<float>& y, float& at) {
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double units = units_apart(y[i], reference(op, x[i]));
    if (units > most) {
      most = units;
      at = x[i];
    }
  }
  return most;
}

class MathCode : public testing::TestWithParam<UnaryOp> {};

TEST_P(MathCode, IsWithinTwoUnitsEverywhere) {
  const std::vector<float> x = samples();
  float at = 0;
  const double most = worst(GetParam(), x, mapped(GetParam(), Numerics::Rounding, x, kLanes), at);
  RecordProperty("units", std::to_string(most));
  EXPECT_LE(most, 2.0) << scalar::name_of(GetParam()) << " of " << at;
}

TEST_P(MathCode, KeepsTheSignOfZero) {
  for (const Numerics numerics : {Numerics::Rounding, Numerics::Fast})
    for (const char* cpu : {"neoverse-n1", "sapphirerapids"}) {
      const std::vector<float> x{-0.0F, 0.0F, -0.0F, 0.0F};
      const std::vector<float> y = mapped(GetParam(), numerics, x, kLanes, formulas_of(cpu));
      for (size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(std::signbit(y[i]), std::signbit(reference(GetParam(), x[i])))
            << x[i] << " " << y[i] << " " << cpu;
    }
}

TEST_P(MathCode, KnowsInfinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Numerics numerics : {Numerics::Rounding, Numerics::Fast})
    for (const char* cpu : {"neoverse-n1", "sapphirerapids"}) {
      const std::vector<float> x{infinity, 0.0F, infinity, -0.0F};
      const std::vector<float> y = mapped(GetParam(), numerics, x, kLanes, formulas_of(cpu));
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = reference(GetParam(), x[i]);
        const bool is_same = std::isnan(want) ? std::isnan(y[i])
                             : std::isinf(want)
                                 ? static_cast<double>(y[i]) == want
                                 : std::abs(static_cast<double>(y[i]) - want) <= 1e-6;
        EXPECT_TRUE(is_same) << x[i] << " " << y[i] << " " << want << " " << cpu;
      }
    }
}

/// Where denormals are slow, formulas come to them in another way, to the same values.
TEST_P(MathCode, HasTheSameDenormalsWithoutDenormalOperations) {
  const std::vector<float> x = samples();
  const std::vector<float> plain =
      mapped(GetParam(), Numerics::Rounding, x, kLanes, formulas_of("neoverse-n1"));
  const std::vector<float> careful =
      mapped(GetParam(), Numerics::Rounding, x, kLanes, formulas_of("sapphirerapids"));
  float at = 0;
  EXPECT_LE(worst(GetParam(), x, careful, at), 2.0) << scalar::name_of(GetParam()) << " of " << at;
  for (size_t i = 0; i < x.size(); ++i) {
    const bool is_small = std::fabs(plain[i]) < 0x1p-126F;
    if (std::isnan(plain[i]) || (is_small && GetParam() == UnaryOp::Gelu))
      continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(plain[i]), std::bit_cast<uint32_t>(careful[i])) << x[i];
  }
}

/// `exponential` of a vector, times `scale`.
std::vector<float> exponentials(std::vector<float> x, double scale, uint16_t lanes,
                                const std::function<Expr(Expr)>& exponential,
                                const target::Cpu& cpu = target::detect_cpu()) {
  std::vector<float> y(x.size());
  HandKernel h;
  h.kernel.numerics = Numerics::Rounding;
  const auto n = static_cast<int64_t>(x.size());
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(n)}),
                 B = h.buffer("B", Elem::F32, {int_lit(n)});
  const uint32_t i = h.variable("i");
  const Expr at = scalar::ramp(h.var(i), 1, lanes);
  const auto number = [&](double v) { return scalar::float_lit(v, {Elem::F32, lanes}); };
  Expr value = exponential(h.load(A, {at}));
  if (scale != 1)
    value = value * number(scale);
  h.kernel.body = {loop(i, int_lit(0), int_lit(n), {store(B, {at}, value)}, lanes)};
  call(loaded(kernel::expand_math(h.kernel, cpu)), {x.data(), y.data()});
  return y;
}

/// exp(nan_min(0, x)) * scale, x not being positive, has formulas of its own.
std::vector<float> exponentials_below_zero(const std::vector<float>& x, double scale,
                                           uint16_t lanes = kLanes,
                                           const target::Cpu& cpu = target::detect_cpu()) {
  const auto below_zero = [](const Expr& e) {
    const Expr zero = scalar::float_lit(0, e.type());
    return scalar::unary(UnaryOp::Exp, scalar::binary(scalar::BinaryOp::NanMin, zero, e));
  };
  return exponentials(x, scale, lanes, below_zero, cpu);
}

std::vector<float> samples_below_zero() {
  std::vector<float> x = samples();
  for (float& v : x)
    v = -std::fabs(v);
  return x;
}

TEST(MathCodeBelowZero, IsWithinTwoUnitsEverywhere) {
  const std::vector<float> x = samples_below_zero(), y = exponentials_below_zero(x, 1);
  double most = 0;
  for (size_t k = 0; k < x.size(); ++k)
    most = std::max(most, units_apart(y[k], reference(UnaryOp::Exp, x[k])));
  EXPECT_LE(most, 2.0);
}

TEST(MathCodeBelowZero, IsTheSameWithoutDenormalOperations) {
  const std::vector<float> x = samples_below_zero();
  for (const double scale : {1.0, scalar::kExpBelowZeroScale}) {
    const auto plain = exponentials_below_zero(x, scale, kLanes, formulas_of("neoverse-n1"));
    const auto careful = exponentials_below_zero(x, scale, kLanes, formulas_of("sapphirerapids"));
    for (size_t i = 0; i < x.size(); ++i) {
      const bool is_nothing = scale != 1 && x[i] < -104.45F;
      // A quotient of it would be slow to become nothing.
      ASSERT_TRUE(!is_nothing || careful[i] == 0) << x[i];
      const bool is_equal = std::isnan(x[i]) ? std::isnan(careful[i]) : plain[i] == careful[i];
      ASSERT_TRUE(is_equal || is_nothing || (scale != 1 && x[i] < -104.4F)) << x[i];
    }
  }
}

TEST(MathTables, OfTheTailHaveNoDenormals) {
  for (const auto& row : scalar::rows_of(scalar::Table::GeluTail))
    for (const float number : row)
      EXPECT_TRUE(number == 0 || std::fabs(number) >= 0x1p-126F || row[0] < -1e-38F) << number;
}

/// Where the result is more than the smallest float: it stands for nothing below, and is not zero
/// there.
TEST(MathCodeBelowZero, IsWithinTwoUnitsWhenScaled) {
  std::vector<float> x;
  for (const float v : samples_below_zero())
    if (!(v < -104))
      x.push_back(v);
  // Steps of about 2^-14, each a little further within the step of the formula.
  for (int k = 0; k < 1700000; ++k)
    x.push_back(static_cast<float>(-k * 6.1e-5));
  x.resize(x.size() / kLanes * kLanes);
  const std::vector<float> y = exponentials_below_zero(x, scalar::kExpBelowZeroScale);
  double most = 0;
  for (size_t k = 0; k < x.size(); ++k)
    most = std::max(
        most, units_apart(y[k], std::exp(static_cast<double>(x[k])) * scalar::kExpBelowZeroScale));
  RecordProperty("units", std::to_string(most));
  EXPECT_LE(most, 2.0);
  EXPECT_GT(most, 1.0) << "not the formula";
}

TEST(MathCodeBelowZero, IsWithinTwoUnitsWithoutASubtrahend) {
  std::vector<float> x;
  for (const float v : samples())
    if (!(v < -124.4F) && !(v > scalar::kLargestUnshifted))
      x.push_back(v);
  for (int k = 0; k < 1600000; ++k)
    x.push_back(static_cast<float>(20 - k * 9e-5));
  x.resize(x.size() / kLanes * kLanes);
  const std::vector<float> y = exponentials(x, scalar::kRowExpScale, kLanes, scalar::unshifted_exp);
  double most = 0;
  for (size_t k = 0; k < x.size(); ++k)
    most = std::max(most,
                    units_apart(y[k], std::exp(static_cast<double>(x[k])) * scalar::kRowExpScale));
  RecordProperty("units", std::to_string(most));
  EXPECT_LE(most, 2.0);
  EXPECT_GT(most, 1.0) << "not the formula";
  // Sums of very long rows do not overflow.
  EXPECT_LT(std::exp(scalar::kLargestUnshifted) * scalar::kRowExpScale * 0x1p40,
            std::numeric_limits<float>::max());
  // What is nothing beside exp(-20) stays so.
  const std::vector<float> far = exponentials({-125, -1e9F, -HUGE_VALF, -3e38F},
                                              scalar::kRowExpScale, kLanes, scalar::unshifted_exp);
  for (const float value : far)
    EXPECT_LT(value, std::exp(-20.0) * scalar::kRowExpScale * 0x1p-150);
}

TEST(MathCodeBelowZero, DoesNotDependOnTheLaneWhenScaled) {
  std::vector<float> x = samples_below_zero();
  x.resize(40000);
  const std::vector<float> a = exponentials_below_zero(x, scalar::kExpBelowZeroScale);
  for (const uint16_t lanes : {1, 2, 5, 8, 32}) {
    const std::vector<float> b = exponentials_below_zero(x, scalar::kExpBelowZeroScale, lanes);
    EXPECT_EQ(0, std::memcmp(a.data(), b.data(), a.size() * sizeof(float))) << lanes << " lanes";
  }
}

TEST_P(MathCode, DoesNotDependOnTheLane) {
  std::vector<float> x = samples();
  x.resize(40000);
  const std::vector<float> a = mapped(GetParam(), Numerics::Rounding, x, kLanes);
  for (const uint16_t lanes : {1, 2, 5, 8, 16}) {
    const std::vector<float> b = mapped(GetParam(), Numerics::Rounding, x, lanes);
    EXPECT_EQ(0, std::memcmp(a.data(), b.data(), a.size() * sizeof(float))) << lanes << " lanes";
  }
}

TEST_P(MathCode, IsWhatTheFormulaEvaluatesTo) {
  if (!scalar::has_expansion(GetParam(), Elem::F32)) {
    EXPECT_EQ(GetParam(), scalar::UnaryOp::Rsqrt) << "all others have a formula";
    return;
  }
  std::vector<float> x;
  const std::vector<float> all = samples();
  for (size_t i = 0; i < all.size(); i += 997)
    x.push_back(all[i]);
  const std::vector<float> y = mapped(GetParam(), Numerics::Rounding, x, 1);
  const Expr formula = scalar::expand(
      GetParam(), scalar::var(0, {Elem::F32, 1}), scalar::Accuracy::Accurate,
      [](std::string_view, Expr value) { return value; },
      target::detect_cpu().arch == target::Arch::Aarch64 ? scalar::Denormals::Fast
                                                         : scalar::Denormals::Slow);
  for (size_t i = 0; i < x.size(); ++i) {
    scalar::Leaves leaves;
    leaves.var = [&](uint32_t) {
      return std::optional(scalar::float_value(static_cast<double>(x[i])));
    };
    const auto want = scalar::evaluate(formula, leaves);
    ASSERT_TRUE(want);
    if (!std::isnan(want->f))
      ASSERT_EQ(want->f, static_cast<double>(y[i])) << x[i];
    else
      ASSERT_TRUE(std::isnan(y[i])) << x[i];
  }
}

TEST_P(MathCode, IsTheInterpretersUnderExact) {
  std::vector<float> x = samples();
  std::vector<float> y(x.size());
  const auto n = static_cast<int64_t>(x.size());
  call(loaded(kernel::exact_functions(map_kernel(GetParam(), Numerics::Exact, n, kLanes))),
       {x.data(), y.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    const double want =
        scalar::apply(GetParam(), Elem::F32, scalar::float_value(static_cast<double>(x[i]))).f;
    if (!std::isnan(want))
      ASSERT_EQ(want, static_cast<double>(y[i])) << x[i];
    else
      ASSERT_TRUE(std::isnan(y[i])) << x[i];
  }
}

TEST_P(MathCode, HasNoCallsUnlessExact) {
  for (const Numerics numerics : {Numerics::Exact, Numerics::Rounding, Numerics::Fast}) {
    const auto kernel = map_kernel(GetParam(), numerics, 64, kLanes);
    bool has_call = false;
    kernel::visit_exprs(kernel.body, [&](const Expr& root) {
      scalar::visit(root, [&](const Expr& e) {
        const auto* n = scalar::as<scalar::Unary>(e);
        has_call = has_call || (n != nullptr && n->op == GetParam());
      });
    });
    EXPECT_EQ(has_call, numerics == Numerics::Exact || GetParam() == UnaryOp::Rsqrt);
    EXPECT_EQ(kernel::spec(kernel), std::vector<std::string>{});
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathCode,
                         testing::Values(UnaryOp::Exp, UnaryOp::Log, UnaryOp::Tanh, UnaryOp::Erf,
                                         UnaryOp::Sigmoid, UnaryOp::Silu, UnaryOp::Gelu,
                                         UnaryOp::GeluTanh, UnaryOp::Sin, UnaryOp::Cos,
                                         UnaryOp::Rsqrt),
                         [](const auto& function) {
                           return std::string(scalar::name_of(function.param));
                         });

TEST(QuickMathCode, SaysHowFarItIsOff) {
  const std::vector<float> x = samples();
  float at = 0;
  const double erf = worst(UnaryOp::Erf, x, mapped(UnaryOp::Erf, Numerics::Fast, x, kLanes), at);
  EXPECT_LE(erf, 3.0) << "erf of " << at;
  EXPECT_GT(erf, 2.0) << "the quick formula could be the only one";
  const std::vector<float> y = mapped(UnaryOp::Gelu, Numerics::Fast, x, kLanes);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]))
      continue;
    const double want = reference(UnaryOp::Gelu, x[i]);
    ASSERT_LE(std::fabs(static_cast<double>(y[i]) - want),
              std::fabs(static_cast<double>(x[i])) * 0x1p-23 + 0x1p-148)
        << "gelu of " << x[i];
  }
}

} // namespace
} // namespace kawara::run
