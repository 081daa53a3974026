#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

const std::string kTypesHead =
    "param N\n"
    "input f: f32[N], d: f64[N], h: f16[N], n: i32[N], c: i8[N], b: bool[N]\n"
    "output F: f32[N], D: f64[N], H: bf16[N], I: i32[N], L: i64[N], B: bool[N]\n";

struct Case {
  const char* text;
  const char* expected;
};

void expect_all(std::initializer_list<Case> cases) {
  for (const Case& c : cases) {
    const std::string text = kTypesHead + "for i in range(N):\n    " + c.text + "\n";
    EXPECT_EQ(body_of(text), "for i in range(N):\n    " + std::string(c.expected) + "\n");
    EXPECT_TRUE(spec(parsed(text)).empty());
  }
}

TEST(Types, LoadsOfNarrowTypesAreWidened) {
  expect_all({{"F[i] = h[i] + 1", "F[i] = f32(h[i]) + 1.0"},
              {"I[i] = c[i] + 1", "I[i] = i32(c[i]) + 1"},
              {"H[i] = h[i]", "H[i] = f32(h[i])"}});
}

TEST(Types, OperandsMeetInTheWiderTypeFloatBeforeInteger) {
  expect_all({{"D[i] = f[i] + d[i]", "D[i] = f64(f[i]) + d[i]"},
              {"F[i] = f[i] + d[i]", "F[i] = f32(f64(f[i]) + d[i])"},
              {"F[i] = n[i] * f[i]", "F[i] = f32(n[i]) * f[i]"},
              {"L[i] = n[i]", "L[i] = i64(n[i])"}});
}

TEST(Types, LiteralsTakeTheTypeOfTheOtherOperand) {
  expect_all({{"F[i] = 2 * f[i]", "F[i] = 2.0 * f[i]"},
              {"D[i] = d[i] * 0.1", "D[i] = d[i] * 0.1"},
              {"I[i] = n[i] + 3", "I[i] = n[i] + 3"},
              {"L[i] = n[i] + 3000000000", "L[i] = i64(n[i]) + 3000000000"},
              {"F[i] = select(f[i] > 0, 1, -1)", "F[i] = select(f[i] > 0.0, 1.0, -1.0)"}});
}

TEST(Types, WeakValuesAreSettledByTheTarget) {
  expect_all({{"D[i] = i * 0.5", "D[i] = f64(i) * 0.5"},
              {"F[i] = i * 0.5", "F[i] = f32(i) * 0.5"},
              {"F[i] = n[i] * 0.5", "F[i] = f32(n[i]) * 0.5"},
              {"D[i] = sqrt(n[i])", "D[i] = sqrt(f64(n[i]))"},
              {"F[i] = exp(1)", "F[i] = exp(1.0)"},
              {"F[i] = 2 * 3 + N", "F[i] = f32(6 + N)"},
              {"I[i] = i", "I[i] = i32(i)"}});
}

TEST(Types, LiteralPrecisionFollowsTheType) {
  const Program p = parsed(kTypesHead + "F[0] = 0.1\nD[0] = 0.1\n");
  EXPECT_EQ(scalar::as<scalar::FloatLit>(p.statements[0].value)->value, double(0.1f));
  EXPECT_EQ(scalar::as<scalar::FloatLit>(p.statements[1].value)->value, 0.1);
}

TEST(Types, ConditionsAndNumbers) {
  expect_all({{"B[i] = f[i] > 0 and b[i]", "B[i] = i32(f[i] > 0.0 and b[i])"},
              {"I[i] += b[i]", "I[i] += i32(b[i])"},
              {"B[i] = not b[i]", "B[i] = i32(not b[i])"},
              {"F[i] = select(b[i] or true, f[i], inf)", "F[i] = select(b[i] or true, f[i], inf)"},
              {"F[i] = select(0 < f[i] <= 1, 1, 0)",
               "F[i] = select(0.0 < f[i] and f[i] <= 1.0, 1.0, 0.0)"},
              {"I[i] = bool(n[i])", "I[i] = i32(n[i] != 0)"}});
}

TEST(Types, ExplicitConversions) {
  expect_all({{"I[i] = i32(f[i])", "I[i] = i32(f[i])"},
              {"F[i] = f16(f[i])", "F[i] = f32(f16(f[i]))"},
              {"F[i] = f16(h[i])", "F[i] = f32(h[i])"},
              {"I[i] = i8(n[i])", "I[i] = i32(i8(n[i]))"},
              {"F[i] = f32(0.1) + d[i]", "F[i] = f32(f64(f32(0.1)) + d[i])"}});
}

TEST(Types, Functions) {
  expect_all({{"F[i] = relu(f[i])", "F[i] = max(f[i], 0.0)"},
              {"F[i] = silu(f[i])", "F[i] = silu(f[i])"},
              {"F[i] = gelu(n[i])", "F[i] = gelu(f32(n[i]))"},
              {"F[i] = gelu_tanh(f[i])", "F[i] = gelu_tanh(f[i])"},
              {"F[i] = pow(f[i], 2)", "F[i] = pow(f[i], 2.0)"},
              {"I[i] = abs(n[i]) // 2 % 3", "I[i] = abs(n[i]) // 2 % 3"},
              {"I[i] = floor(n[i])", "I[i] = n[i]"},
              {"F[i] = max(f[i], 0, n[i])", "F[i] = max(max(f[i], 0.0), f32(n[i]))"},
              {"F[i] = rsqrt(abs(-f[i]))", "F[i] = rsqrt(abs(-f[i]))"}});
}

TEST(Types, SmallestIntegerCanBeWritten) {
  expect_all({{"L[i] = -9223372036854775808", "L[i] = -9223372036854775808"}});
}

} // namespace
} // namespace kawara::program
