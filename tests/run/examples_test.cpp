#include "example.h"

#include <gtest/gtest.h>

#include <algorithm>

// Every example gives the interpreter's result: compiled in source order and under `auto`, by
// Kawara and by a C compiler.

namespace kawara::run_test {
namespace {

class Examples : public testing::TestWithParam<std::string> {};

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(example_paths()), test_name);

/// C as strict as its contract promises; the log must stay empty.
const bench::CCompiler kStrictC{"cc", {"-O1", "-Wall", "-Wextra"}};

TEST_P(Examples, OneKernelServesAllSizes) {
  const Example example = example_at(GetParam());
  const driver::Compiled initial = compile(request_of(example, ""));
  const driver::Compiled automatic = compile(request_of(example, "auto"));
  Trace silent;
  const kernel::Kernel plain = driver::kernel_of(initial.front, silent);
  const kernel::Kernel fast = driver::kernel_of(automatic.front, silent);
  const auto library = bench::load_c({{"naive", plain, true}, {"tuned", fast, false}}, kStrictC);
  ASSERT_TRUE(static_cast<bool>(library)) << library.error();
  EXPECT_EQ(library->warnings(), "");
  for (const char* set : {"MINI", "ODD"}) {
    const Sizes sizes = sizes_of(example, set);
    const std::vector<int64_t> values = values_of(example, sizes);
    const program::Arrays inputs = inputs_of(example, sizes);
    const program::Arrays expected = expected_of(example, sizes, inputs);
    const auto expect = [&](const std::string& what, program::Arrays got) {
      expect_near(example, sizes, what + " at " + set, std::move(got), expected);
    };
    expect("source order", run_compiled(initial, values, inputs));
    expect("auto", run_compiled(automatic, values, inputs));
    expect("naive C", run_c(example, *library, "naive", plain, values, inputs));
    expect("C of auto", run_c(example, *library, "tuned", fast, values, inputs));
  }
}

TEST_P(Examples, KernelsForFixedSizes) {
  const Example example = example_at(GetParam());
  for (const char* set : {"MINI", "ODD"}) {
    const Sizes sizes = sizes_of(example, set);
    const std::vector<int64_t> values = values_of(example, sizes);
    const program::Arrays inputs = inputs_of(example, sizes);
    const program::Arrays expected = expected_of(example, sizes, inputs);
    for (const char* directives : {"", "auto"})
      expect_near(example, sizes, std::string("fixed sizes ") + set + " " + directives,
                  run_compiled(compile(request_of(example, directives, sizes)), values, inputs),
                  expected);
  }
}

} // namespace
} // namespace kawara::run_test
