#include "unit/schedule/auto/facts.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

std::string softmax(int64_t rows, int64_t columns) {
  return fmt::format("input X: f32[{0}, {1}]\noutput Y: f32[{0}, {1}]\ntemp e: f32[{0}, {1}]\n"
                     "e[i, j] = exp(X[i, j] - max(k, X[i, k]))\n"
                     "Y[i, j] = e[i, j] / sum(k, e[i, k])\n",
                     rows, columns);
}

/// Exponentials, S2, and their sum, S4, are made in one loop.
bool sums_as_made(const std::string& text, const char* processor = "neoverse-n1") {
  return are_joined(by_default(text, processor), 2, 4);
}

TEST(AutoRows, add_up_exponentials_as_they_are_made) {
  const Schedule rows = by_default(softmax(4096, 4096));
  EXPECT_TRUE(are_joined(rows, 2, 4)) << loops_of(rows);
  EXPECT_EQ(around(rows, 4).lanes_along(), "j") << loops_of(rows);
  EXPECT_EQ(around(rows, 4).lanes(), 32) << "as many as hide how long a function takes";
  EXPECT_TRUE(sums_as_made(softmax(4096, 4096), "sapphirerapids"));
}

TEST(AutoRows, add_up_apart_where_the_end_would_be_waited_for) {
  EXPECT_FALSE(sums_as_made(softmax(8, 4096))) << "all of it is in a cache";
  EXPECT_FALSE(sums_as_made(softmax(4096, 4100))) << "four lanes are left over";
  EXPECT_FALSE(sums_as_made(softmax(65536, 128))) << "rows are short";
  EXPECT_TRUE(sums_as_made(softmax(4096, 4096)));
}

TEST(AutoRows, add_up_apart_what_may_not_be_in_lanes) {
  EXPECT_FALSE(sums_as_made("numerics exact\n" + softmax(4096, 4096)));
  EXPECT_TRUE(sums_as_made("numerics rounding\n" + softmax(4096, 4096)));
}

TEST(AutoRows, add_up_plain_results_as_they_are_made) {
  const auto rows = [](const std::string& sum) {
    return by_default("input X: f32[64, 512], w: f32[512]\noutput Y: f32[64, 512], s: f32[64]\n"
                      "Y[i, j] = X[i, j] * w[j]\ns[i] = sum(k, " +
                      sum + ")\n");
  };
  EXPECT_TRUE(are_joined(rows("Y[i, k]"), 0, 2)) << loops_of(rows("Y[i, k]"));
  EXPECT_FALSE(are_joined(rows("Y[i, k] * Y[i, k]"), 0, 2))
      << "products are added up faster in a loop of their own";
}

} // namespace
} // namespace kawara::schedule
