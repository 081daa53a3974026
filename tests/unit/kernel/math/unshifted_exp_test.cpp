#include "kernel/math/unshifted_exp.h"

#include "scalar/expand/expansion.h"
#include "unit/kernel/line.h"

namespace kawara {
namespace {

constexpr const char* kSoftmaxRows = R"(input X: f32[7, 300]
output Y: f32[7, 300]
temp e: f32[7, 300]
e[i, j] = exp(X[i, j] - max(k, X[i, k]))
Y[i, j] = e[i, j] / sum(k, e[i, k])
)";

std::string after_unshifted(const std::string& text, const std::string& directives,
                            const target::Cpu& cpu = line::test_cpu()) {
  std::string result;
  kernel::optimise(line::compile(text, directives).kernel, cpu,
                   [&](std::string_view pass, const kernel::Kernel& k) {
                     if (pass == "unshifted_exp")
                       result = kernel::print(k);
                   });
  return result;
}

TEST(UnshiftedExp, IsForSmallMaximaOnly) {
  const std::string text = after_unshifted(kSoftmaxRows, "auto");
  const size_t asked = text.find("<= 20.0"), without = text.find("exp(nan_max(broadcast(-124.5"),
               otherwise = text.find("else:"), with = text.find("exp(nan_min(broadcast(0.0");
  ASSERT_NE(with, std::string::npos) << text;
  EXPECT_LT(asked, without) << text;
  EXPECT_LT(without, otherwise) << text;
  EXPECT_LT(otherwise, with) << text;
  line::expect_same(kSoftmaxRows, "auto", {{}});
}

/// 300 is nine vectors of 32 lanes and 12 more elements, which have their own statement.
TEST(UnshiftedExp, IsForAllElementsOfARow) {
  const std::string text = after_unshifted(kSoftmaxRows, "auto");
  size_t with = 0, without = 0;
  for (size_t at = 0; (at = text.find("exp(nan_", at)) != std::string::npos; ++at)
    ++(text.compare(at, 11, "exp(nan_max") == 0 ? without : with);
  EXPECT_GT(without, 1) << text;
  EXPECT_EQ(without, with) << text;
}

TEST(UnshiftedExp, NotExactlyNorWithoutFormulas) {
  EXPECT_NE(after_unshifted(kSoftmaxRows, "auto").find("-124.5"), std::string::npos);
  EXPECT_EQ(after_unshifted("numerics exact\n" + std::string(kSoftmaxRows), "auto").find("-124.5"),
            std::string::npos);
  target::Cpu old;
  old.arch = target::Arch::X86_64;
  EXPECT_EQ(after_unshifted(kSoftmaxRows, "auto", old).find("-124.5"), std::string::npos);
}

} // namespace
} // namespace kawara
