#include "unit/kernel/line.h"

namespace kawara {
namespace {

target::Cpu one_wide_core() {
  target::Cpu cpu = *target::named_cpu("sapphirerapids");
  cpu.cores = 1;
  return cpu;
}

const std::string kDepthwise =
    "input X: f32[3, 7, 23]\nconst W: f32[3, 3, 3], B: f32[3]\noutput Y: f32[3, 5, 21]\n"
    "temp T: f32[3, 5, 21]\n\nT[c, h, w] = sum((r, s), X[c, h + r, w + s] * W[c, r, s])\n"
    "Y[c, h, w] = max(T[c, h, w] + B[c], 0.0)\n";
const std::string kPool = "input X: f32[3, 9, 45]\noutput Y: f32[3, 4, 22]\n\n"
                          "Y[c, h, w] = max((r in range(3), s in range(3)), "
                          "X[c, 2 * h + r, 2 * w + s])\n";

TEST(SmallWindows, StartAndEndInRegisters) {
  const std::string text = kernel::print(
      kernel::optimise(line::compile(kDepthwise, "auto", one_wide_core()).kernel, one_wide_core()));
  EXPECT_NE(text.find("T: f32[1, 1, 21]"), std::string::npos)
      << "more than one row of results" << text;
  EXPECT_NE(text.find("max(T_element"), std::string::npos)
      << "what follows reads registers" << text;
}

TEST(SmallWindows, ComputeTheSame) {
  for (const std::string& text : {kDepthwise, kPool}) {
    line::expect_same(text, "auto", {{}});
    line::expect_same(text, "auto", {{}}, one_wide_core());
  }
}

} // namespace
} // namespace kawara
