#include "kernel/math/shared_divisors.h"

#include "kernel/walk.h"
#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;

size_t divisions_in(const Kernel& kernel) {
  size_t count = 0;
  visit_exprs(kernel.body, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* n = scalar::as<scalar::Binary>(e);
      count += n != nullptr && n->op == scalar::BinaryOp::Div ? 1 : 0;
    });
  });
  return count;
}

const std::string kScaled = "param M, N\n"
                            "input X: f32[M, N], s: f32[M]\n"
                            "output Y: f32[M, N]\n"
                            "Y[i, j] = X[i, j] / s[i]\n";

TEST(SharedDivisors, OneReciprocalServesARow) {
  const auto line = compile(gpu_line::kSoftmax, "auto", {{"M", 3}, {"N", 2048}});
  EXPECT_EQ(divisions_in(line.kernel), 1U) << print(line.kernel);
}

TEST(SharedDivisors, ExactProgramsDivide) {
  const auto line = compile("numerics exact\n" + kScaled, "auto", {{"M", 3}, {"N", 64}});
  EXPECT_EQ(line.broken, std::vector<std::string>{});
  const auto worst = gpu_line::difference(line, {{"M", 3}, {"N", 64}}, 1);
  ASSERT_TRUE(worst) << worst.error();
  EXPECT_EQ(*worst, 0);
}

/// The quotients of row elements by `divisor`, by the default schedule.
std::vector<double> quotients(double divisor, const std::vector<double>& elements) {
  const auto columns = static_cast<int64_t>(elements.size());
  const auto line = compile(kScaled, "auto", {{"M", 1}, {"N", columns}});
  EXPECT_GE(divisions_in(line.kernel), 1U);
  Elements x, s = {scalar::float_value(divisor)}, y;
  for (const double element : elements)
    x.push_back(scalar::float_value(element));
  std::vector<Elements> arguments = {x, s, y};
  const auto done = interpret(line.kernel, {}, arguments, {});
  EXPECT_TRUE(done) << done.error();
  std::vector<double> result;
  for (const scalar::Value& value : arguments[2])
    result.push_back(value.f);
  return result;
}

TEST(SharedDivisors, HugeAndTinyDivisorsKeepTheirDigits) {
  std::vector<double> elements;
  for (int k = 0; k < 64; ++k)
    elements.push_back(static_cast<float>(std::ldexp(1 + k / 64.0, k - 32)));
  for (const double divisor : {0x1.8p127, 0x1.2468acp126, 3.0, 0x1.4p-126, 0x1.8p-130, 0x1p-149}) {
    const std::vector<double> got = quotients(divisor, elements);
    ASSERT_EQ(got.size(), elements.size());
    for (size_t k = 0; k < elements.size(); ++k) {
      const double want = elements[k] / divisor;
      if (std::abs(want) > 0x1.fffffep127)
        EXPECT_TRUE(std::isinf(got[k])) << elements[k] << " / " << divisor;
      else
        EXPECT_NEAR(got[k], want, std::max(std::abs(want) * 0x1p-22, 0x1p-149))
            << elements[k] << " / " << divisor;
    }
  }
  for (const double divisor : {0.0, static_cast<double>(INFINITY)}) {
    const std::vector<double> got = quotients(divisor, elements);
    for (const double q : got)
      EXPECT_EQ(q, divisor == 0 ? static_cast<double>(INFINITY) : 0.0);
  }
}

} // namespace
} // namespace kawara::kernel
