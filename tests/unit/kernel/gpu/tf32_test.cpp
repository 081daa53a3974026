#include "unit/kernel/gpu/gpu_line.h"

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

const std::string kOnTensorCores =
    "distribute(S0.j); distribute(S0.i)\n"
    "[tile(S1.i=64, S1.j=64, S1.k=32); tile(S0.i=64, S0.j=64)\n"
    "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
    "tensorize(S1.i.1, wgmma.m64n64k8.tf32); pipeline(S1.k.0, 3)";

TEST(Tf32, ProductsOfF32RunOnTensorCoresWhereNumericsAllow) {
  const std::string text = fast_product("i, k", "j, k");
  const std::string asked = print(compile(text, kOnTensorCores, kSmall).kernel);
  EXPECT_NE(asked.find("wgmma.m64n64k8.tf32"), std::string::npos) << asked;
  EXPECT_NE(print(compile(text, "auto", kSmall).kernel).find("tf32"), std::string::npos);
  const std::string careful = text.substr(text.find('\n') + 1);
  EXPECT_THROW(compile(careful, kOnTensorCores, kSmall), std::runtime_error);
  EXPECT_EQ(print(compile(careful, "auto", kSmall).kernel).find("tf32"), std::string::npos);
}

TEST(Tf32, OperandsWhoseReductionRunsDownTheRowsAreTransposedFirst) {
  const Line line = compile(fast_product("i, k", "k, j"), kOnTensorCores, kSmall);
  const std::string text = print(line.kernel);
  EXPECT_NE(text.find("workspace B_transposed: f32[70, 48]"), std::string::npos) << text;
  EXPECT_EQ(text.find("A_transposed"), std::string::npos) << text;
  const std::string both =
      print(compile(fast_product("k, i", "k, j"), kOnTensorCores, kSmall).kernel);
  EXPECT_NE(both.find("A_transposed"), std::string::npos) << both;
}

TEST(Tf32, AnyOperandTransposed) {
  for (const std::string a : {"i, k", "k, i"})
    for (const std::string b : {"k, j", "j, k"})
      expect_same(fast_product(a, b), kOnTensorCores, kSmall);
}

} // namespace
} // namespace kawara::kernel
