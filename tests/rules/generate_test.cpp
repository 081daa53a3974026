#include "rules/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kawara::rules {
namespace {

bool has(const Generated& generated, const std::string& text) {
  return std::any_of(generated.rules.begin(), generated.rules.end(),
                     [&](const rewrite::Rule& rule) { return text_of(rule).rfind(text, 0) == 0; });
}

TEST(Generate, FindsRulesAgain) {
  GenerateOptions options;
  options.operators = {"Add", "Relu", "Transpose", "MatMul"};
  options.inputs = 2;
  const Generated found = generate(options);
  EXPECT_GT(found.terms, 50U);
  EXPECT_TRUE(has(found, "Relu(Relu(x)) -> Relu(x)")) << print(found);
  EXPECT_TRUE(has(found, "Transpose(Transpose(x, perm=[1, 0]), perm=[1, 0]) -> x")) << print(found);
  EXPECT_TRUE(has(found, "Transpose(Relu(x), perm=[1, 0]) -> Relu(Transpose(x, perm=[1, 0]))") ||
              has(found, "Relu(Transpose(x, perm=[1, 0])) -> Transpose(Relu(x), perm=[1, 0])"))
      << print(found);
  const auto read = rewrite::parse_rules(make_source("generated.rules", print(found)));
  ASSERT_TRUE(read) << render(read.error());
  EXPECT_EQ(read->size(), found.rules.size());
}

TEST(Generate, LeavesOutWhatIsKnown) {
  GenerateOptions options;
  options.operators = {"Relu", "Transpose"};
  options.inputs = 1;
  const size_t all = generate(options).rules.size();
  options.known = rewrite::standard_rules();
  const Generated rest = generate(options);
  EXPECT_GT(all, 0U);
  EXPECT_EQ(rest.rules.size(), 0U) << print(rest);
  EXPECT_GT(rest.implied, 0U);
}

} // namespace
} // namespace kawara::rules
