#include "unit/kernel/line.h"

#include "kernel/vector/check_together.h"

namespace kawara {
namespace {

std::string checked(const std::string& text, const std::string& directives = "") {
  return kernel::print(kernel::check_together(line::compile(text, directives).kernel));
}
bool is_checked_together(const std::string& text, const std::string& directives = "") {
  return checked(text, directives).find("_inside: i64x8 = within(") != std::string::npos;
}

const std::string kHistogram = "param N, B\ninput bin: i32[N], w: f32[N]\ninout h: f32[B]\n"
                               "for i in range(N):\n    h[bin[i]] += w[i]\n";

TEST(CheckTogether, ChecksEightNeighboursBeforeTheyAreUsed) {
  const std::string text = checked(kHistogram);
  EXPECT_NE(text.find("for i in range(0, i_rest, 8):\n"
                      "    let bin_inside: i64x8 = within(i64x8(bin[ramp(i, 1, 8)]), "
                      "broadcast(B, 8))\n"
                      "    h[bin[i]] += w[i]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("h[bin[i + 7]] += w[i + 7]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for i in range(i_rest, N):\n    h[bin[i]] += w[i]\n"), std::string::npos)
      << text;
}

TEST(CheckTogether, ComputesTheSame) {
  for (const int64_t n : {0, 1, 7, 8, 9, 24, 31})
    line::expect_same(kHistogram, "", {{n, 5}, {n, 1}});
}

TEST(CheckTogether, LeavesOtherLoops) {
  EXPECT_TRUE(is_checked_together(kHistogram));
  EXPECT_FALSE(is_checked_together(kHistogram, "unroll(i, 4)")) << "copied as asked";
  const std::string head = "param N, B\ninput w: f32[N]\ninout bin: i32[N], h: f32[B]\n";
  EXPECT_TRUE(is_checked_together(head + "for i in range(N):\n    h[bin[i]] += w[i]\n"));
  EXPECT_FALSE(is_checked_together(head + "for i in range(N):\n    h[bin[i]] += w[i]\n"
                                          "    bin[i] = bin[i] * 0\n"))
      << "the loop stores its indices";
  EXPECT_FALSE(is_checked_together("param N, B\ninput bin: i32[2*N], w: f32[N]\ninout h: f32[B]\n"
                                   "for i in range(N):\n    h[bin[2*i]] += w[i]\n"))
      << "not side by side";
  EXPECT_FALSE(is_checked_together("param N, B\ninput bin: i32[N], w: f32[B]\ninout h: f32[N]\n"
                                   "for i in range(N):\n"
                                   "    h[i] += (w[bin[i]] if bin[i] > 0 else 1)\n"))
      << "read by choice";
  EXPECT_FALSE(is_checked_together("param B\ninput bin: i32[7], w: f32[7]\ninout h: f32[B]\n"
                                   "for i in range(7):\n    h[bin[i]] += w[i]\n"))
      << "fewer than eight";
}

} // namespace
} // namespace kawara
