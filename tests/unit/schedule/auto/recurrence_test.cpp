#include "schedule/auto/auto.h"
#include "schedule/tree/extent.h"
#include "unit/schedule/programs.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

Schedule by_default(const std::string& text) {
  auto made = apply(initial(text), Auto{}, test_environment());
  EXPECT_TRUE(made) << text;
  return *std::move(made);
}

std::string loops_by_default(const std::string& text) {
  const Schedule made = by_default(text);
  return poly::print(made.order, poly::names_of_statements(made.scop));
}

/// A recurrence along each row: lanes over rows would load and store element by element.
std::string along_rows(const char* value) {
  return fmt::format(R"(input x: f64[512, 700]
inout y: f64[512, 700]
for i in range(512):
    for j in range(1, 700):
        y[i, j] = {}
)",
                     value);
}

TEST(Recurrence, along_rows_has_several_rows_side_by_side) {
  EXPECT_EQ(loops_by_default((along_rows("x[i, j] + 0.5 * y[i, j - 1]"))),
            "for i.0:  # parallel\n  for j:\n    for i.1:  # unroll\n      S0\n");
}

TEST(Recurrence, of_a_function_has_lanes) {
  const std::string loops = loops_by_default((along_rows("x[i, j] + 0.5 * exp(y[i, j - 1])")));
  EXPECT_NE(loops.find("vector("), std::string::npos) << loops;
  EXPECT_EQ(loops.find("unroll"), std::string::npos) << loops;
}

TEST(Recurrence, along_columns_has_lanes) {
  const std::string loops = loops_by_default((R"(input x: f64[512, 700]
inout y: f64[512, 700]
for j in range(700):
    for i in range(1, 512):
        y[i, j] = x[i, j] + 0.5 * y[i - 1, j]
)"));
  EXPECT_NE(loops.find("vector("), std::string::npos) << loops;
}

TEST(Recurrence, in_a_scalar_has_several_rows_side_by_side) {
  const std::string loops = loops_by_default((R"(input x: f64[512, 700]
output y: f64[512, 700]
temp last: f64
for i in range(512):
    last = 0
    for j in range(699, -1, -1):
        y[i, j] = x[i, j] + 0.5 * last
        last = y[i, j] * 0.25
)"));
  EXPECT_NE(loops.find("  for j:\n    for i.1:  # unroll\n"), std::string::npos) << loops;
  EXPECT_EQ(loops.find("vector("), std::string::npos) << loops;
}

TEST(Recurrence, whose_scalar_is_a_result_has_several_rows_side_by_side) {
  const std::string loops = loops_by_default(R"(input x: f64[512, 700], w: f64[512]
output y: f64[512, 700], s: f64[512]
temp last: f64
for i in range(512):
    last = 0
    for j in range(700):
        y[i, j] = x[i, j] + 0.5 * last
        last = y[i, j] * 0.25
    s[i] = w[i] * last
)");
  EXPECT_NE(loops.find("  for j:\n    for i.1:  # unroll\n"), std::string::npos) << loops;
}

/// Iterations of the innermost loop around the last statement.
int64_t innermost_run(const Schedule& schedule) {
  const poly::StmtId last{static_cast<uint32_t>(schedule.scop.statements.size() - 1)};
  const poly::LoopId loop = poly::path_of(schedule.order, last).back();
  EXPECT_GT(schedule.order[loop].marks.vector_width, 0);
  return longest_run(schedule.scop, schedule.order, loop).value_or(0);
}

/// Rows that come from memory are walked in long pieces; those in a cache in pieces whose temps are registers.
TEST(Recurrence, in_a_scalar_along_columns_takes_long_strips_of_large_tensors) {
  const auto strip = [](int rows) {
    return innermost_run(by_default(fmt::format(R"(input x: f64[{0}, 700]
output y: f64[{0}, 700]
temp last: f64
for j in range(700):
    last = 0
    for i in range({0}):
        y[i, j] = x[i, j] + 0.5 * last
        last = y[i, j] * 0.25
)",
                                                rows)));
  };
  EXPECT_EQ(strip(16), 8);
  EXPECT_GE(strip(4096), 128);
}

} // namespace
} // namespace kawara::schedule
