#include "unit/schedule/programs.h"

#include "schedule/tree/arrangement.h"

#include <gtest/gtest.h>

namespace kawara::schedule {
namespace {

const char* const kRowSums = R"(param N
input x: f32[N, N]
output y: f32[N]
for i in range(N):
    y[i] = 0
    for k in range(N):
        y[i] += x[i, k]
)";

Result<Schedule, Refusal> arranged(const char* program, const std::string& directives) {
  const auto parsed = parse_directives(make_source("directives", directives));
  EXPECT_TRUE(parsed) << directives;
  EXPECT_EQ(print(*parsed), directives) << "prints as it was written";
  return apply(initial(program), *parsed, test_environment());
}

std::string loops_after(const char* program, const std::string& directives) {
  const auto made = arranged(program, directives);
  return made ? poly::print(made->order, poly::names_of_statements(made->scop)) : "refused";
}

TEST(Arrange, separates_statements) {
  EXPECT_EQ(loops_after(kRowSums, "arrange(S0[0, i, 0], S1[1, i, 0, k, 0])"),
            "for i:\n  S0\nfor i:\n  for k:\n    S1\n");
}

TEST(Arrange, exchanges_the_loops_of_one_statement) {
  EXPECT_EQ(loops_after(kRowSums, "arrange(S0[0, i, 0], S1[1, k, 0, i, 0])"),
            "for i:\n  S0\nfor k:\n  for i:\n    S1\n");
}

TEST(Arrange, joins_loops_and_shifts) {
  const std::string program = R"(input x: f32[8]
output y: f32[8], z: f32[8]
for i in range(8):
    y[i] = x[i]
for j in range(8):
    z[j] = y[7 - j] if j < 4 else y[j]
)";
  EXPECT_EQ(loops_after(program.c_str(), "arrange(S0[0, i, 0], S1[0, j, 1])"), "refused");
  EXPECT_EQ(loops_after(program.c_str(), "arrange(S0[0, i, 0], S1[0, j+7, 1])"),
            "for i:\n  S0\n  S1\n");
}

TEST(Arrange, leaves_loops_around_as_they_are) {
  const std::string made =
      loops_after(kRowSums, "split(i, 4); arrange(S0[0, i.1, 0], S1[1, i.1, 0, k, 0])");
  EXPECT_EQ(made, "for i.0:\n  for i.1:\n    S0\n  for i.1:\n    for k:\n      S1\n");
}

TEST(Arrange, refuses_an_order_that_breaks_a_dependence_with_two_iterations) {
  const auto made = arranged(kRowSums, "arrange(S0[1, i, 0], S1[0, i, 0, k, 0])");
  ASSERT_FALSE(made);
  EXPECT_TRUE(std::holds_alternative<Refusal::Judged>(made.error().why));
}

TEST(Arrange, says_what_an_order_is) {
  const Schedule start = initial(kRowSums);
  const auto now = arrangement_of(start.scop, start.order, start.order);
  ASSERT_TRUE(now);
  EXPECT_EQ(print(Directive(*now)), "arrange(S0[0, i, 0], S1[0, i, 1, k, 0])");
  const auto again = apply(start, *now, test_environment());
  ASSERT_TRUE(again);
  EXPECT_EQ(poly::print(again->order, poly::names_of_statements(again->scop)),
            poly::print(start.order, poly::names_of_statements(start.scop)));
}

} // namespace
} // namespace kawara::schedule
