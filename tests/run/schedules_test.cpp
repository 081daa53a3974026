#include "example.h"

#include <gtest/gtest.h>

// Every schedule in examples/schedules is legal for its program, which has the first part of its
// name, and keeps the result.

namespace kawara::run_test {
namespace {

/// "gemm_relu_tiled" belongs to gemm_relu, not to gemm: the longest name of a program that fits.
std::string program_of_schedule(const std::string& schedule) {
  std::string best;
  for (const std::string& path : example_paths())
    if ((schedule == path || schedule.rfind(path + "_", 0) == 0) && path.size() > best.size())
      best = path;
  return best;
}

class Schedules : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Schedules, testing::ValuesIn(schedule_names()),
                         [](const auto& given) { return given.param; });

TEST_P(Schedules, LegalAndSameResult) {
  const std::string path = program_of_schedule(GetParam());
  ASSERT_NE(path, "") << "no program for this schedule";
  const Example example = example_at(path);
  const std::string directives = text_of_file("schedules/" + GetParam() + ".sched");
  const Sizes sizes = sizes_for_schedules(example);
  const std::vector<int64_t> values = values_of(example, sizes);
  const program::Arrays inputs = inputs_of(example, sizes);
  const program::Arrays expected = expected_of(example, sizes, inputs);

  const driver::Compiled open = compile(request_of(example, directives));
  expect_near(example, sizes, "open sizes", run_compiled(open, values, inputs), expected);
  const driver::Compiled fixed = compile(request_of(example, directives, sizes));
  expect_near(example, sizes, "fixed sizes", run_compiled(fixed, values, inputs), expected);

  Trace silent;
  const kernel::Kernel loops = driver::kernel_of(open.front, silent);
  const auto library =
      bench::load_c({{"tuned", loops, false}}, {"cc", {"-O1", "-fopenmp", "-Wall", "-Wextra"}});
  ASSERT_TRUE(static_cast<bool>(library)) << library.error();
  EXPECT_EQ(library->warnings(), "");
  expect_near(example, sizes, "C", run_c(example, *library, "tuned", loops, values, inputs),
              expected);
}

} // namespace
} // namespace kawara::run_test
