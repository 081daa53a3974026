#include "example.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

// Copies that transpose, as `auto` plans them: sides around whole vectors, squares and lines.

namespace kawara::run_test {
namespace {

void expect_right(const std::string& text) {
  SCOPED_TRACE(text);
  const Example example = example_of("turn", text);
  const driver::Compiled compiled = compile(request_of(example, "auto", {}));
  const program::Arrays inputs = inputs_of(example, {});
  expect_near(example, {}, "auto", run_compiled(compiled, {}, inputs),
              expected_of(example, {}, inputs));
}

class Transposes : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Transposes, testing::Values("f32", "f64", "i8", "i32"));

TEST_P(Transposes, TheLastTwoDimensions) {
  std::mt19937 random(7);
  for (int round = 0; round < 24; ++round) {
    const bool is_thin = round % 2 == 0;
    const auto batch = 1 + random() % 3, read = 2 + random() % 90;
    const auto written = is_thin ? 2 + random() % 16 : 2 + random() % 90;
    expect_right(fmt::format("input X: {0}[{1}, {2}, {3}]\noutput Y: {0}[{1}, {3}, {2}]\n"
                             "Y[n, i, j] = X[n, j, i]\n",
                             GetParam(), batch, written, read));
  }
}

/// Lanes a few elements apart: what is between them stays in their row, at its end too.
TEST_P(Transposes, FewElementsApart) {
  std::mt19937 random(11);
  for (int round = 0; round < 24; ++round) {
    const auto rows = 1 + random() % 5, columns = 1 + random() % 70, apart = 2 + random() % 4;
    expect_right(fmt::format("input X: {0}[{1}, 2, {2}, {3}]\noutput Y: {0}[2, {3}, {1}, {2}]\n"
                             "Y[p, q, h, w] = X[h, p, w, q]\n",
                             GetParam(), rows, columns, apart));
  }
}

} // namespace
} // namespace kawara::run_test
