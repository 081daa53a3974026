#include "example.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

// Running values in lanes: every element type, operation, direction and width, at lengths around
// whole vectors.

namespace kawara::run_test {
namespace {

constexpr int kElems = 4, kForms = 5;

class Scans : public testing::TestWithParam<std::tuple<int, int>> {};
INSTANTIATE_TEST_SUITE_P(All, Scans,
                         testing::Combine(testing::Range(0, kElems), testing::Range(0, kForms)));

TEST_P(Scans, SameResultInLanes) {
  const auto [elem, form] = GetParam();
  constexpr std::array<const char*, kElems> kNames{"f32", "f64", "i32", "i64"};
  // Factors near 1, so that products stay tame.
  constexpr std::array<const char*, kForms> kTexts{
      "for i in range(1, N):\n    s[i] = s[i - 1] + x[i]\n",
      "for i in range(1, N):\n    s[i] = max(x[i], s[i - 1])\n",
      "for i in range(N - 2, -1, -1):\n    s[i] = min(s[i + 1], x[i])\n",
      "for i in range(1, N):\n    s[i] = s[i - 1] * (1 + x[i] * x[i] // 100)\n",
      "for i in range(1, N):\n    s[i] = s[i - 1] - x[i]\n    t[i] -= s[i - 1]\n    r += s[i]\n"};
  const bool is_float = kNames[elem][0] == 'f';
  std::string text =
      fmt::format("param N\ninput x: {0}[N]\ninout s: {0}[N], t: {0}[N], r: {0}\n{1}", kNames[elem],
                  kTexts[form]);
  if (const size_t at = text.find("//"); is_float && at != std::string::npos)
    text.replace(at, 2, "/");
  const Example example = example_of("scan", text);
  for (const int width : {2, 4, 8, 16}) {
    const driver::Compiled open =
        compile(request_of(example, fmt::format("vectorize(i, {})", width)));
    for (int64_t n = 0; n <= 35; n += n < 5 ? 1 : 3) {
      const Sizes sizes{{"N", n}};
      const std::vector<int64_t> values = values_of(example, sizes);
      const program::Arrays inputs = inputs_of(example, sizes);
      expect_near(example, sizes, fmt::format("{} lanes, N = {}", width, n),
                  run_compiled(open, values, inputs), expected_of(example, sizes, inputs));
    }
  }
}

} // namespace
} // namespace kawara::run_test
