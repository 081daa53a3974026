#include "schedule/tree/extent.h"
#include "unit/schedule/auto/facts.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

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
  const Schedule rows = by_default(along_rows("x[i, j] + 0.5 * y[i, j - 1]"));
  const LoopsAround nest = around(rows, 0);
  EXPECT_EQ(nest.lanes(), 0) << loops_of(rows);
  EXPECT_EQ(nest.unrolled(), std::set<std::string>{"i"}) << loops_of(rows);
  EXPECT_GT(nest.depth_of_steps("j"), nest.depth_of_steps("i")) << loops_of(rows);
  EXPECT_TRUE(nest.is_parallel());
}

TEST(Recurrence, of_a_function_has_lanes) {
  const Schedule rows = by_default(along_rows("x[i, j] + 0.5 * exp(y[i, j - 1])"));
  EXPECT_EQ(around(rows, 0).lanes_along(), "i") << loops_of(rows);
  EXPECT_TRUE(around(rows, 0).unrolled().empty()) << loops_of(rows);
}

TEST(Recurrence, along_columns_has_lanes) {
  const Schedule columns = by_default(R"(input x: f64[512, 700]
inout y: f64[512, 700]
for j in range(700):
    for i in range(1, 512):
        y[i, j] = x[i, j] + 0.5 * y[i - 1, j]
)");
  EXPECT_EQ(around(columns, 0).lanes_along(), "j") << loops_of(columns);
}

TEST(Recurrence, that_is_a_scan_has_lanes_where_vectors_are_wide) {
  const std::string text = along_rows("x[i, j] + y[i, j - 1]");
  const Schedule wide = by_default(text, "sapphirerapids"), narrow = by_default(text);
  EXPECT_EQ(around(wide, 0).lanes_along(), "j") << loops_of(wide);
  EXPECT_TRUE(around(wide, 0).vector()->marks.is_scan);
  EXPECT_TRUE(around(wide, 0).is_parallel());
  EXPECT_EQ(around(narrow, 0).unrolled(), std::set<std::string>{"i"}) << loops_of(narrow);
  EXPECT_EQ(around(by_default(kPrefixSum), 0).lanes(), 4) << "no rows, one chain";
}

TEST(Recurrence, in_a_scalar_has_several_rows_side_by_side) {
  const Schedule rows = by_default(R"(input x: f64[512, 700]
output y: f64[512, 700]
temp last: f64
for i in range(512):
    last = 0
    for j in range(699, -1, -1):
        y[i, j] = x[i, j] + 0.5 * last
        last = y[i, j] * 0.25
)");
  for (const uint32_t statement : {1, 2}) {
    const LoopsAround nest = around(rows, statement);
    EXPECT_EQ(nest.lanes(), 0) << loops_of(rows);
    EXPECT_EQ(nest.unrolled(), std::set<std::string>{"i"}) << loops_of(rows);
    EXPECT_GT(nest.depth_of_steps("j"), nest.depth_of_steps("i")) << loops_of(rows);
  }
}

TEST(Recurrence, whose_scalar_is_a_result_has_several_rows_side_by_side) {
  const Schedule rows = by_default(R"(input x: f64[512, 700], w: f64[512]
output y: f64[512, 700], s: f64[512]
temp last: f64
for i in range(512):
    last = 0
    for j in range(700):
        y[i, j] = x[i, j] + 0.5 * last
        last = y[i, j] * 0.25
    s[i] = w[i] * last
)");
  EXPECT_EQ(around(rows, 1).unrolled(), std::set<std::string>{"i"}) << loops_of(rows);
}

/// Steps of a recurrent layer: each multiplies a state by weights that all steps share.
std::string steps_of(int batch, int states) {
  return fmt::format(R"(input G: f32[100, {0}, {1}]
const R: f32[{1}, {1}]
temp A: f32[100, {0}, {1}]
inout H: f32[101, {0}, {1}]
for t in range(100):
    for b in range({0}):
        for j in range({1}):
            A[t, b, j] = 0
            for k in range({1}):
                A[t, b, j] += H[t, b, k] * R[j, k]
            H[t + 1, b, j] = tanh(G[t, b, j] + A[t, b, j])
)",
                     batch, states);
}

void expect_register_tiles_in_steps(const Schedule& steps, uint32_t product) {
  const LoopsAround nest = around(steps, product);
  EXPECT_EQ(nest.depth_of_steps("t"), 0) << loops_of(steps);
  EXPECT_EQ(nest.lanes_along(), "j") << loops_of(steps);
  EXPECT_TRUE(nest.unrolled().contains("b")) << loops_of(steps);
  EXPECT_TRUE(is_packed(steps, "R")) << loops_of(steps);
}

TEST(Recurrence, of_products_has_register_tiles_and_packed_weights) {
  for (const char* processor : {"neoverse-n1", "sapphirerapids"})
    expect_register_tiles_in_steps(by_default(steps_of(8, 256), processor), 1);
}

TEST(Recurrence, of_products_packs_weights_that_others_read_too) {
  std::string text = steps_of(8, 256);
  const size_t loops = text.find("for t");
  text.insert(loops, "output d: f32[256]\nd[j] = R[j, j]\n");
  expect_register_tiles_in_steps(by_default(text, "sapphirerapids"), 2);
}

/// Rows of the weights lie side by side, once for all steps.
TEST(Recurrence, of_a_matrix_by_a_vector_has_lanes_along_its_rows) {
  const std::string text = R"(input R: f32[256, 96]
temp A: f32[100, 256]
inout H: f32[101, 256]
for t in range(100):
    for j in range(256):
        A[t, j] = 0
        for k in range(96):
            A[t, j] += H[t, k] * R[j, k]
        H[t + 1, j] = tanh(A[t, j])
)";
  for (const char* processor : {"neoverse-n1", "sapphirerapids"}) {
    const Schedule steps = by_default(text, processor);
    EXPECT_EQ(around(steps, 1).lanes_along(), "j") << loops_of(steps);
    EXPECT_EQ(around(steps, 1).depth_of_steps("t"), 0) << loops_of(steps);
    EXPECT_TRUE(is_packed(steps, "R")) << loops_of(steps);
  }
}

/// A copy for a single call, or for a few steps, would cost more than it gains.
TEST(Recurrence, of_a_matrix_that_is_used_once_copies_nothing) {
  const auto text = [](int steps, const char* matrix) {
    return fmt::format(R"(input R: f32[{0}, 256, 96]
inout A: f32[{0}, 256]
inout H: f32[{0}, 96]
for t in range({0}):
    for j in range(256):
        for k in range(96):
            A[t, j] += H[t, k] * R[{1}, j, k]
)",
                       steps, matrix);
  };
  for (const auto& program : {text(100, "t"), text(4, "0")}) {
    const Schedule steps = by_default(program, "sapphirerapids");
    EXPECT_FALSE(is_packed(steps, "R")) << loops_of(steps);
  }
}

/// Iterations of the innermost loop around the last statement.
int64_t innermost_run(const Schedule& schedule) {
  const poly::StmtId last{static_cast<uint32_t>(schedule.scop.statements.size() - 1)};
  const poly::LoopId loop = poly::path_of(schedule.order, last).back();
  EXPECT_GT(schedule.order[loop].marks.vector_width, 0);
  return longest_run(schedule.scop, schedule.order, loop).value_or(0);
}

/// Rows that come from memory are walked in long pieces; those in a cache in pieces whose temps are
/// registers.
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
