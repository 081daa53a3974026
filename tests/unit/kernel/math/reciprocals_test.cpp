#include "unit/kernel/line.h"

namespace kawara {
namespace {

std::string after_reciprocals(const std::string& text, const std::string& directives = "") {
  std::string result;
  kernel::optimise(line::compile(text, directives).kernel, line::test_cpu(),
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "reciprocals")
                       result = kernel::print(k);
                   });
  return result;
}

bool has_reciprocal(const std::string& text) {
  return text.find("reciprocal") != std::string::npos;
}

constexpr const char* kScaled = "input X: f32[5, 90], s: f32[5]\noutput Y: f32[5, 90]\n"
                                "Y[i, j] = X[i, j] / s[i]\n";

TEST(Reciprocals, AreComputedBeforeTheLoop) {
  const std::string text = after_reciprocals(kScaled, "vectorize(j, 4)");
  EXPECT_NE(text.find("= 1.0 / s[i]"), std::string::npos) << text;
  EXPECT_NE(text.find("* broadcast(reciprocal, 4)"), std::string::npos) << text;
  EXPECT_NE(text.find("/ broadcast(s[i], 4)"), std::string::npos) << "for extreme divisors\n"
                                                                  << text;
  line::expect_same(kScaled, "vectorize(j, 4)", {{}});
}

TEST(Reciprocals, LeaveWhatOneUnitDecides) {
  const auto text = [](const std::string& value) {
    return after_reciprocals("input X: f32[5, 9], Z: f32[5, 9], s: f32[5]\noutput Y: f32[5, 9]\n"
                             "Y[i, j] = " +
                             value + "\n");
  };
  for (const char* value :
       {"round(X[i, j] / s[i])", "floor(X[i, j] / s[i])", "X[i, j] / Z[i, j]", "X[i, j] / 4.0"})
    EXPECT_FALSE(has_reciprocal(text(value))) << text(value);
  EXPECT_TRUE(has_reciprocal(text("X[i, j] / s[i]"))) << text("X[i, j] / s[i]");
}

TEST(Reciprocals, NeedADivisorThatStays) {
  const auto text = [](const std::string& divisor) {
    return after_reciprocals("input s: f32[9]\ninout X: f32[9]\nfor j in range(9):\n"
                             "    X[j] = X[j] / " +
                             divisor + "\n");
  };
  EXPECT_FALSE(has_reciprocal(text("X[3]"))) << text("X[3]");
  EXPECT_TRUE(has_reciprocal(text("s[3]"))) << text("s[3]");
}

TEST(Reciprocals, AreForTheDefaultContract) {
  const auto text = [](const std::string& numerics) {
    return after_reciprocals("numerics " + numerics + "\n" + kScaled);
  };
  for (const char* numerics : {"exact", "fast"})
    EXPECT_FALSE(has_reciprocal(text(numerics))) << text(numerics);
  EXPECT_TRUE(has_reciprocal(text("rounding"))) << text("rounding");
}

TEST(Reciprocals, AreNotReadForALoopThatDoesNotRun) {
  const std::string text = after_reciprocals("param N\ninput X: f32[N], s: f32[N]\n"
                                             "output Y: f32[N, N]\nfor i in range(N):\n"
                                             "    for j in range(i):\n"
                                             "        Y[i, j] = X[j] / s[i - 1]\n");
  const size_t asked = text.find("if 0 < "), read = text.find("= 1.0 / s[");
  ASSERT_NE(read, std::string::npos) << text;
  EXPECT_LT(asked, read) << text;
}

} // namespace
} // namespace kawara
