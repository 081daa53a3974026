#include "scalar/eval.h"
#include "scalar/expr.h"
#include "scalar/simplify/rule.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace kawara::scalar {
namespace {

const Names kSimpleNames{{"i", "j", "k"}, {"N"}, {"A"}, {}};

Expr lit(int64_t v) { return int_lit(v); }
Expr div(const Expr& a, int64_t b) { return binary(BinaryOp::FloorDiv, a, lit(b)); }
Expr mod(const Expr& a, int64_t b) { return binary(BinaryOp::Mod, a, lit(b)); }
Expr least(const Expr& a, const Expr& b) { return binary(BinaryOp::Min, a, b); }
Expr most(const Expr& a, const Expr& b) { return binary(BinaryOp::Max, a, b); }
std::string simple(const Expr& e) { return to_string(simplify(e), kSimpleNames); }

/// Puts the values of x, y, z and c, d into a pattern and evaluates it.
std::optional<int64_t> value(const Pattern& p, const std::array<int64_t, 3>& any,
                             const std::array<int64_t, 2>& constant) {
  const auto arg = [&](size_t i) { return value(*p.args[i], any, constant); };
  switch (p.kind) {
  case Pattern::Kind::Any:
    return any[p.slot];
  case Pattern::Kind::Constant:
    return constant[p.slot];
  case Pattern::Kind::Literal:
    return p.literal;
  case Pattern::Kind::Unary:
    return p.unary == UnaryOp::Not ? *arg(0) == 0 : -*arg(0);
  case Pattern::Kind::Binary: {
    const auto a = arg(0), b = arg(1);
    if (!a || !b)
      return std::nullopt;
    const auto v = apply(p.binary, Elem::I64, int_value(*a), int_value(*b));
    return v ? std::optional(v->i) : std::nullopt;
  }
  case Pattern::Kind::Select:
    return *arg(0) != 0 ? arg(1) : arg(2);
  }
  return std::nullopt;
}

/// Every rule of a table at all values of its names in -4..4; conditions are only asked of c, d.
void check_table(const Rules& rules, int64_t low, int64_t high) {
  for (size_t at = 0; at < rules.size(); ++at) {
    const Rule& r = rules[at];
    int fired = 0;
    for (int64_t x = low; x <= high; ++x)
      for (int64_t y = low; y <= high; ++y)
        for (int64_t c = low; c <= high; ++c)
          for (int64_t d = low; d <= high; ++d) {
            if (r.when != nullptr && !r.when(c, d))
              continue;
            const auto before = value(*r.pattern, {x, y, 0}, {c, d});
            if (!before)
              continue;
            ++fired;
            ASSERT_EQ(before, value(*r.result, {x, y, 0}, {c, d}))
                << "rule " << at << " at x=" << x << " y=" << y << " c=" << c << " d=" << d;
          }
    EXPECT_GT(fired, 0) << "rule " << at << " is never tried";
  }
}

TEST(Simplify, LeavesWhatIsSimpleAsItIs) {
  const Expr once = simplify(div(iter(0) * lit(6) + iter(1), 3) + lit(0));
  EXPECT_TRUE(simplify(once).is_same_object(once));
  EXPECT_TRUE(once.node().simplest.is_set());
  // What is made of it is not taken for simple.
  const Expr more = once - once;
  EXPECT_FALSE(more.node().simplest.is_set());
  EXPECT_EQ(simple(more), "0");
  EXPECT_EQ(simple(substitute_iters(once, {lit(1), lit(5)})), "3");
}

TEST(Rules, HoldOnSmallRanges) {
  check_table(add_rules(), -4, 4);
  check_table(mul_rules(), -4, 4);
  check_table(div_rules(), -7, 7);
  check_table(min_max_rules(), -3, 3);
  check_table(compare_rules(), -3, 3);
  check_table(logic_rules(), 0, 1);
}

TEST(Simplify, IndexAlgebra) {
  const Expr i = iter(0), j = iter(1), N = param(0);
  EXPECT_EQ(simple(i + lit(0)), "i");
  EXPECT_EQ(simple(i * lit(1)), "i");
  EXPECT_EQ(simple(i * lit(0)), "0");
  EXPECT_EQ(simple((i + lit(3)) + lit(4)), "i + 7");
  EXPECT_EQ(simple((i + lit(3)) - lit(4)), "i - 1");
  EXPECT_EQ(simple(i * lit(4) + i), "i * 5");
  EXPECT_EQ(simple(i - i), "0");
  EXPECT_EQ(simple((N - i) - (N - j)), "j - i");
  EXPECT_EQ(simple((i + lit(1)) * lit(4)), "i * 4 + 4");
  EXPECT_EQ(simple(lit(0) - i + N), "N - i");
  EXPECT_EQ(simple(lit(7) - i), "7 - i");
  EXPECT_EQ(simple(div(i * lit(4), 4)), "i");
  EXPECT_EQ(simple(div(i * lit(4) + j, 4)), "i + j // 4");
  EXPECT_EQ(simple(div(i * lit(4) + lit(5), 4)), "i + 1");
  EXPECT_EQ(simple(div(i * lit(6) + lit(5), 4)), "i * 3 // 2 + 1");
  EXPECT_EQ(simple(mod(i * lit(4), 4)), "0");
  EXPECT_EQ(simple(mod(i * lit(4) + j, 4)), "j % 4");
  EXPECT_EQ(simple(div(div(i, 3), 5)), "i // 15");
  EXPECT_EQ(simple(mod(i, 1)), "0");
  EXPECT_EQ(simple(mod(mod(i, 12), 4)), "i % 4");
  EXPECT_EQ(simple(div(mod(i, 4), 4)), "0");
  EXPECT_EQ(simple(div(i * lit(8) + mod(j, 8), 8)), "i");
  EXPECT_EQ(simple(mod(i * lit(8) + mod(j, 8), 8)), "j % 8");
  EXPECT_EQ(simple(div(lit(-7), 2)), "-4");
}

TEST(Simplify, ComparisonsAndExtremes) {
  const Expr i = iter(0), N = param(0);
  const auto cmp = [](BinaryOp op, const Expr& a, const Expr& b) { return binary(op, a, b); };
  EXPECT_EQ(simple(least(i + lit(3), i + lit(1))), "i + 1");
  EXPECT_EQ(simple(most(i + lit(3), i)), "i + 3");
  EXPECT_EQ(simple(least(least(i, lit(5)), lit(3))), "min(i, 3)");
  EXPECT_EQ(simple(least(i, N)), "min(i, N)");
  EXPECT_EQ(simple(least(mod(i, 4), lit(3))), "i % 4");
  EXPECT_EQ(simple(cmp(BinaryOp::Lt, lit(2), lit(3))), "true");
  EXPECT_EQ(simple(cmp(BinaryOp::Lt, i, i + lit(1))), "true");
  EXPECT_EQ(simple(cmp(BinaryOp::Ge, mod(i, 4), lit(4))), "false");
  EXPECT_EQ(simple(cmp(BinaryOp::Eq, i, N)), "i == N");
  EXPECT_EQ(simple(unary(UnaryOp::Not, cmp(BinaryOp::Lt, i, N))), "i >= N");
  EXPECT_EQ(simple(select(cmp(BinaryOp::Lt, i, i), i, N)), "N");
}

TEST(Simplify, LeavesFloatsAlone) {
  const Type f32{Elem::F32, 1};
  const Expr x = load(0, {iter(0)}, f32);
  const Expr zero = float_lit(0, f32);
  EXPECT_EQ(simple(x + zero), "A[i] + 0.0") << "-0.0 + 0.0 is 0.0";
  EXPECT_EQ(simple(x * zero), "A[i] * 0.0");
  EXPECT_EQ(simple(x - x), "A[i] - A[i]");
  EXPECT_EQ(simple(binary(BinaryOp::Eq, x, x)), "A[i] == A[i]");
  EXPECT_EQ(simple(unary(UnaryOp::Not, binary(BinaryOp::Lt, x, zero))), "not A[i] < 0.0");
  EXPECT_EQ(simple(float_lit(0.1, f32) + float_lit(0.2, f32)), "0.3");
  EXPECT_EQ(simple(load(0, {iter(0) + lit(0)}, f32)), "A[i]");
}

TEST(Simplify, KeepsDivisionByZero) {
  EXPECT_EQ(simple(div(lit(1), 0)), "1 // 0");
  EXPECT_EQ(simple(mod(iter(0), 0)), "i % 0");
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Expr index(int depth) {
    if (depth == 0)
      return leaf();
    const Expr a = index(depth - 1), b = index(depth - 1);
    switch (pick(8)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * lit(pick(9) - 4);
    case 3:
      return div(a, pick(6) + 1);
    case 4:
      return mod(a, pick(6) + 1);
    case 5:
      return least(a, b);
    case 6:
      return most(a, b);
    default:
      return select(condition(a, b), a, b);
    }
  }

private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(random_() % count); }
  Expr leaf() {
    const int64_t which = pick(4);
    return which == 3 ? lit(pick(13) - 6) : iter(static_cast<uint32_t>(which % 2));
  }
  Expr condition(const Expr& a, const Expr& b) {
    const auto op = static_cast<BinaryOp>(static_cast<int64_t>(BinaryOp::Lt) + pick(6));
    const Expr plain = binary(op, a, b);
    return pick(2) == 0 ? plain : unary(UnaryOp::Not, plain);
  }
  std::mt19937_64 random_;
};

TEST(Simplify, KeepsTheValueOfRandomExpressions) {
  Generator generator(20);
  for (int round = 0; round < 2000; ++round) {
    const Expr e = generator.index(3);
    const Expr s = simplify(e);
    EXPECT_TRUE(equal(simplify(s), s))
        << to_string(e, kSimpleNames) << " gives " << to_string(s, kSimpleNames);
    for (int64_t i = -6; i <= 6; ++i)
      for (int64_t j = -6; j <= 6; ++j)
        ASSERT_EQ(evaluate_index(e, {i, j}, {}), evaluate_index(s, {i, j}, {}))
            << to_string(e, kSimpleNames) << " gives " << to_string(s, kSimpleNames)
            << " at i=" << i << ", j=" << j;
  }
}

} // namespace
} // namespace kawara::scalar
