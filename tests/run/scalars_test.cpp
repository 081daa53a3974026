#include "example.h"

#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

// PolyBench with its sums in scalars, as C programs have them: the same results as the texts
// without them, and no bit differs from the interpreter's under `numerics exact`.

namespace kawara::run_test {
namespace {

std::vector<std::string> stems() {
  std::vector<std::string> all;
  for (const auto& entry :
       std::filesystem::directory_iterator(KAWARA_EXAMPLES "/polybench/scalars"))
    if (entry.path().extension() == ".kw")
      all.push_back(entry.path().stem().string());
  std::sort(all.begin(), all.end());
  return all;
}

class Scalars : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, Scalars, testing::ValuesIn(stems()), [](const auto& given) {
  std::string name = given.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(Scalars, SameResultsAsWithout) {
  const Example plain = example_at("polybench/" + GetParam());
  const Example scalars = example_at("polybench/scalars/" + GetParam());
  const driver::Compiled open = compile(request_of(scalars, "auto"));
  for (const char* set : {"MINI", "ODD"}) {
    const Sizes sizes = sizes_of(plain, set);
    const std::vector<int64_t> values = values_of(plain, sizes);
    const program::Arrays inputs = inputs_of(plain, sizes);
    const program::Arrays expected = expected_of(plain, sizes, inputs);
    expect_near(plain, sizes, "as written", expected_of(scalars, sizes, inputs), expected);
    expect_near(plain, sizes, "open sizes", run_compiled(open, values, inputs), expected);
    const driver::Compiled fixed = compile(request_of(scalars, "auto", sizes));
    EXPECT_FALSE(fixed.front.schedule.begun.empty()) << "temps stayed where they were";
    expect_near(plain, sizes, "fixed sizes", run_compiled(fixed, values, inputs), expected);
  }
}

TEST_P(Scalars, SameBitsUnderExact) {
  Example scalars = example_at("polybench/scalars/" + GetParam());
  scalars.program.numerics = program::Numerics::Exact;
  const Example plain = example_at("polybench/" + GetParam());
  const driver::Compiled compiled = compile(request_of(scalars, "auto"));
  for (const char* set : {"MINI", "ODD"}) {
    const Sizes sizes = sizes_of(plain, set);
    const program::Arrays inputs = inputs_of(plain, sizes);
    EXPECT_TRUE(run_compiled(compiled, values_of(plain, sizes), inputs) ==
                expected_of(scalars, sizes, inputs))
        << set;
  }
}

} // namespace
} // namespace kawara::run_test
