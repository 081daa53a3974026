#include "gpu_line.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::expect_same;
using gpu_line::Line;
using gpu_line::Sizes;

const Sizes kSmall = {{"M", 72}, {"N", 70}, {"K", 45}};

std::string fast_product(const std::string& a, const std::string& b) {
  const auto shape = [](const std::string& index) {
    std::string text = index;
    for (const auto& [from, to] : {std::pair{'i', 'M'}, {'j', 'N'}, {'k', 'K'}})
      std::replace(text.begin(), text.end(), from, to);
    return text;
  };
  return "numerics fast\nparam M, N, K\ninput A: f32[" + shape(a) + "], B: f32[" + shape(b) +
         "]\noutput C: f32[M, N]\nC[i, j] = sum(k, A[" + a + "] * B[" + b + "])\n";
}

TEST(Tf32, ProductsOfF32RunOnTensorCoresWhereFastIsAllowed) {
  const std::string text = fast_product("i, k", "j, k");
  const std::string fast = print(compile(text, "auto", kSmall).kernel);
  EXPECT_NE(fast.find("k8.tf32"), std::string::npos) << fast;
  const std::string careful = text.substr(text.find('\n') + 1);
  EXPECT_EQ(print(compile(careful, "auto", kSmall).kernel).find("tf32"), std::string::npos);
}

TEST(Tf32, OperandsWhoseReductionRunsDownTheRowsAreTurnedFirst) {
  const Line line = compile(fast_product("i, k", "k, j"), "auto", kSmall);
  const std::string text = print(line.kernel);
  EXPECT_NE(text.find("workspace B_turned: f32[70, 48]"), std::string::npos) << text;
  EXPECT_EQ(text.find("A_turned"), std::string::npos) << text;
}

TEST(Tf32, AnyOperandTransposed) {
  for (const std::string a : {"i, k", "k, i"})
    for (const std::string b : {"k, j", "j, k"})
      expect_same(fast_product(a, b), "auto", kSmall);
}

} // namespace
} // namespace kawara::kernel
