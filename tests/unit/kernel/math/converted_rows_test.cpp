#include "unit/kernel/line.h"

namespace kawara {
namespace {

std::string after_converted_rows(const std::string& text, const std::string& directives) {
  std::string result;
  kernel::optimise(line::compile(text, directives).kernel, line::test_cpu(),
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "converted_rows")
                       result = kernel::print(k);
                   });
  return result;
}

std::string three_loops(const std::string& type, const std::string& columns = "22") {
  return "input X: " + type + "[9, " + columns + "], g: " + type + "[" + columns +
         "]\noutput Y: f32[9, " + columns +
         "]\ntemp s: f32[9], v: f32[9]\n"
         "for i in range(9):\n    s[i] = 0\n    v[i] = 0\n    for j in range(" +
         columns + "):\n        s[i] += X[i, j]\n    for j in range(" + columns +
         "):\n        v[i] += (X[i, j] - s[i]) * (X[i, j] - s[i])\n    for j in range(" + columns +
         "):\n        Y[i, j] = (X[i, j] - s[i]) * v[i] * g[j]\n";
}

size_t conversions(const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find("f32("); at != std::string::npos; at = text.find("f32(", at + 1))
    ++count;
  return count;
}

bool has_converted_row(const std::string& text) { return text.find("X_f32") != std::string::npos; }

TEST(ConvertedRows, AreConvertedOnce) {
  const std::string text = after_converted_rows(three_loops("f16"), "");
  EXPECT_NE(text.find("X_f32[j] = f32(X[i, j])"), std::string::npos) << text;
  EXPECT_EQ(conversions(text), 2U) << "and the one of g, before all rows\n" << text;
  EXPECT_LT(text.find("= f32(g[j])"), text.find("for i")) << text;
  line::expect_same(three_loops("f16"), "", {{}});
  line::expect_same(three_loops("f16"), "parallel(i); vectorize(S4.j, 8)", {{}});
}

TEST(ConvertedRows, AreThoseOfF16) {
  EXPECT_EQ(conversions(after_converted_rows(three_loops("bf16"), "")), 5U)
      << after_converted_rows(three_loops("bf16"), "") << "bits that are shifted";
}

TEST(ConvertedRows, StayNear) {
  EXPECT_FALSE(has_converted_row(after_converted_rows(three_loops("f16", "9000"), "")));
  EXPECT_TRUE(has_converted_row(after_converted_rows(three_loops("f16", "90"), "")));
}

TEST(ConvertedRows, AreReadByThreeLoops) {
  const std::string loop = "    for j in range(22):\n        s[i] += X[i, j]\n";
  const auto text = [&](const std::string& loops) {
    return after_converted_rows("input X: f16[9, 22]\noutput Y: f32[9, 22]\ntemp s: f32[9]\n"
                                "for i in range(9):\n    s[i] = 0\n" +
                                    loops +
                                    "    for j in range(22):\n        Y[i, j] = X[i, j] - s[i]\n",
                                "");
  };
  EXPECT_FALSE(has_converted_row(text(loop))) << text(loop);
  EXPECT_TRUE(has_converted_row(text(loop + loop))) << text(loop + loop);
}

TEST(ConvertedRows, DoNotChangeMeanwhile) {
  const std::string text = after_converted_rows(
      "inout X: f16[22]\noutput s: f32[3]\nfor j in range(22):\n    s[0] += X[j]\n"
      "for j in range(22):\n    X[j] = X[j] + 1\nfor j in range(22):\n    s[1] += X[j]\n"
      "for j in range(22):\n    s[2] += X[j]\n",
      "");
  EXPECT_FALSE(has_converted_row(text)) << text;
  EXPECT_TRUE(has_converted_row(after_converted_rows(three_loops("f16"), "")));
}

} // namespace
} // namespace kawara
