#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::difference;

/// Rows of 16 elements whose places in the image divide by 3: the first convolution of a net.
std::string blocks(const std::string& elem) {
  return "input X: " + elem + "[3, 8, 8]\noutput D: " + elem +
         "[5, 5, 16]\n"
         "D[h, x, e] = select(e < 12 and 2 * h + e // 6 >= 1 and 2 * h + e // 6 < 9 and "
         "2 * x + e // 3 % 2 >= 1 and 2 * x + e // 3 % 2 < 9, "
         "X[e % 3, (2 * h + e // 6 + 7) % 8, (2 * x + e // 3 % 2 + 7) % 8], 0)\n";
}

TEST(WideStores, elements_that_are_stored_one_by_one_leave_in_pieces) {
  for (const auto& [elem, piece] : {std::pair("bf16", "1, 8)"), std::pair("f32", "1, 4)")}) {
    const auto line = compile(blocks(elem), "auto", {});
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    const std::string text = print(line.kernel);
    EXPECT_NE(text.find("D_wide"), std::string::npos) << text;
    EXPECT_NE(text.find(piece), std::string::npos) << text;
    const auto worst = difference(line, {}, 5);
    ASSERT_TRUE(worst) << worst.error() << "\n" << text;
    EXPECT_EQ(*worst, 0);
  }
}

TEST(WideStores, elements_in_another_order_or_of_the_buffer_itself_do_not) {
  const std::string unrolled = "bind(i, block.x); unroll(j)";
  for (const auto& [value, is_wide] : {std::pair<std::string, bool>{"D[i, j] = X[i, j]", true},
                                       {"D[i, 3 - j] = X[i, j]", false},
                                       {"D[i, j] = X[i, j] + D[i, (j + 1) % 4]", false}}) {
    const auto line = compile("param N\ninput X: f32[N, 4]\ninout D: f32[N, 4]\n"
                              "for i in range(N):\n  for j in range(4):\n    " +
                                  value + "\n",
                              unrolled, {{"N", 3}});
    EXPECT_EQ(print(line.kernel).find("D_wide") != std::string::npos, is_wide)
        << print(line.kernel);
    const auto worst = difference(line, {{"N", 3}}, 5);
    ASSERT_TRUE(worst) << worst.error();
    EXPECT_EQ(*worst, 0);
  }
}

} // namespace
} // namespace kawara::kernel
