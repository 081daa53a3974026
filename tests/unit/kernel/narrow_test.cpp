#include "kernel/analysis/intervals.h"
#include "kernel/index/narrow.h"
#include "unit/kernel/line.h"

namespace kawara {
namespace {

using line::compile;

std::string narrowed(const std::string& text) {
  const kernel::Kernel made = kernel::narrow(compile(text).kernel);
  EXPECT_EQ(kernel::spec(made), std::vector<std::string>{});
  return kernel::print(made);
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string loop_to(const std::string& end, const std::string& index) {
  return "param N\ninput a: f32[1000]\noutput b: f32[" + end + "]\nfor j in range(" + end +
         "):\n    b[j] = a[" + index + "]\n";
}

TEST(Narrow, DividesIn32BitsWhereTheDividendFits) {
  EXPECT_EQ(count(narrowed(loop_to("100000", "j*7 % 1000")), "i32("), 1U);
  EXPECT_EQ(count(narrowed(loop_to("2900", "j // 3")), "i32("), 1U);
}

TEST(Narrow, KeepsWhatMayNotFit) {
  EXPECT_EQ(count(narrowed(loop_to("N", "j*7 % 1000")), "i32("), 0U);
  EXPECT_EQ(count(narrowed(loop_to("100000", "j*30000 % 999")), "i32("), 0U);
  // The last dividend is 2^31 + 1 and 2^31 - 1.
  EXPECT_EQ(count(narrowed(loop_to("715827883", "(3*j + 3) % 1000")), "i32("), 0U);
  EXPECT_EQ(count(narrowed(loop_to("715827883", "(3*j + 1) % 1000")), "i32("), 1U);
}

TEST(Narrow, KeepsShiftsAndMasks) {
  EXPECT_EQ(count(narrowed(loop_to("100000", "j*7 % 512")), "i32("), 0U);
}

TEST(Narrow, LanesAreNarrowFromTheirBeginning) {
  std::string text;
  kernel::optimise(compile("input a: f32[1000]\noutput b: f32[4000]\nfor j in range(4000):\n"
                           "    b[j] = a[(j*7 + 3) % 1000]\n",
                           "vectorize(j, 4)")
                       .kernel,
                   line::test_cpu(), [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "narrow")
                       text = kernel::print(k);
                   });
  // One conversion of the scalar under the ramp, none of a vector.
  EXPECT_EQ(count(text, "i32(ramp"), 0U) << text;
  EXPECT_GE(count(text, "ramp(i32("), 1U) << text;
}

TEST(Narrow, MeaningIsKept) {
  const char* text = R"(param N
input a: f32[40]
output b: f32[203]
output c: f32[203]
for j in range(203):
    b[j] = a[(j*7 + 11) % 40] + a[(j - 100) % 13]
    c[j] = a[(j // 3 * 5 + j % 7) // 11] + a[(100 - j) // 7 + 15]
)";
  for (const char* directives : {"", "vectorize(j, 4)", "vectorize(j, 16)", "split(j, 10)",
                                 "split(j, 12); vectorize(j.1, 4); parallel(j.0)"})
    line::expect_same(text, directives, {{0}});
}

TEST(Intervals, BothEndsOfEveryShape) {
  kernel::Intervals intervals;
  kernel::For loop;
  loop.var = 0;
  loop.lo = scalar::int_lit(-3);
  loop.hi = scalar::binary(scalar::BinaryOp::Min, scalar::int_lit(32), scalar::param(0));
  intervals.enter(loop);
  const kernel::Expr i = scalar::var(0);
  const auto expect = [&](const kernel::Expr& e, int64_t low, int64_t high) {
    const scalar::Bounds found = intervals.of(e);
    EXPECT_EQ(found.low, low);
    EXPECT_EQ(found.high, high);
  };
  const auto with = [](scalar::BinaryOp op, const kernel::Expr& a, int64_t b) {
    return scalar::binary(op, a, scalar::int_lit(b));
  };
  expect(i, -3, 31);
  expect(i * scalar::int_lit(-2), -62, 6);
  expect(scalar::int_lit(5) - i, -26, 8);
  expect(with(scalar::BinaryOp::FloorDiv, i, 2), -2, 15);
  expect(with(scalar::BinaryOp::Mod, i, 7), 0, 6);
  expect(with(scalar::BinaryOp::Max, i, 4), 4, 31);
  expect(with(scalar::BinaryOp::Min, i, 4), -3, 4);
  expect(scalar::ramp(i, -2, 4), -9, 31);
  expect(scalar::select(scalar::binary(scalar::BinaryOp::Lt, i, scalar::int_lit(0)),
                        scalar::int_lit(100), i),
         -3, 100);
  // What a 32-bit sum cannot hold wraps.
  const kernel::Expr narrow = scalar::cast(i, {scalar::Elem::I32, 1});
  expect(narrow * scalar::int_lit(1 << 30, narrow.type()), INT32_MIN, INT32_MAX);
  EXPECT_FALSE(intervals.of(scalar::param(0)).high);
  EXPECT_FALSE(intervals.of(i * scalar::int_lit(INT64_MAX)).high);
}

} // namespace
} // namespace kawara
