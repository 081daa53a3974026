#include "unit/schedule/programs.h"

#include <fmt/format.h>

namespace kawara::schedule {
namespace {

std::string loops_of_rows(const std::string& text, const char* machine = "neoverse-n1") {
  const Schedule start = initial(text);
  Environment environment;
  environment.cpu = *target::named_cpu(machine);
  const auto result = apply(start, Auto{}, environment);
  EXPECT_TRUE(static_cast<bool>(result));
  return result ? poly::print(result->order, poly::names_of_statements(result->scop)) : "";
}

std::string softmax(int64_t rows, int64_t columns) {
  return fmt::format("input X: f32[{0}, {1}]\noutput Y: f32[{0}, {1}]\ntemp e: f32[{0}, {1}]\n"
                     "e[i, j] = exp(X[i, j] - max(k, X[i, k]))\n"
                     "Y[i, j] = e[i, j] / sum(k, e[i, k])\n",
                     rows, columns);
}

bool has_joined(const std::string& loops) {
  return loops.find("    S2\n    S4\n") != std::string::npos;
}

TEST(AutoRows, add_up_exponentials_as_they_are_made) {
  const std::string loops = loops_of_rows(softmax(4096, 4096));
  EXPECT_NE(loops.find("  S3\n  for j:  # vector(32)\n    S2\n    S4\n"), std::string::npos)
      << loops;
  EXPECT_TRUE(has_joined(loops_of_rows(softmax(4096, 4096), "sapphirerapids")));
}

TEST(AutoRows, add_up_apart_where_the_end_would_be_waited_for) {
  EXPECT_FALSE(has_joined(loops_of_rows(softmax(8, 4096)))) << "all of it is in a cache";
  EXPECT_FALSE(has_joined(loops_of_rows(softmax(4096, 4100)))) << "four lanes are left over";
  EXPECT_FALSE(has_joined(loops_of_rows(softmax(65536, 128)))) << "rows are short";
}

TEST(AutoRows, add_up_apart_what_may_not_be_in_lanes) {
  EXPECT_FALSE(has_joined(loops_of_rows("numerics exact\n" + softmax(4096, 4096))));
}

TEST(AutoRows, add_up_plain_results_as_they_are_made) {
  const auto loops = [](const std::string& sum) {
    return loops_of_rows("input X: f32[64, 512], w: f32[512]\noutput Y: f32[64, 512], s: f32[64]\n"
                         "Y[i, j] = X[i, j] * w[j]\ns[i] = sum(k, " +
                         sum + ")\n");
  };
  const std::string joined = "    S0\n    S2\n";
  EXPECT_NE(loops("Y[i, k]").find(joined), std::string::npos) << loops("Y[i, k]");
  EXPECT_EQ(loops("Y[i, k] * Y[i, k]").find(joined), std::string::npos)
      << "products are added up faster in a loop of their own";
}

} // namespace
} // namespace kawara::schedule
