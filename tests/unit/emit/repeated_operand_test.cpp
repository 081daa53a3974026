#include "emit/cuda/cuda_from_kernel.h"
#include "unit/kernel/gpu/gpu_line.h"

namespace kawara::emit {
namespace {

std::string text_of(const std::string& value, const gpu_line::Sizes& sizes) {
  const std::string program = "param M, N\ninput X: f32[M, N], b: f32[N], c: f32[M]\n"
                              "output Y: f32[M, N]\nY[i, j] = " +
                              value + "\n";
  const std::string text = cuda_from_kernel(gpu_line::compile(program, "auto", sizes).kernel).text;
  return text.substr(text.find("__global__"));
}

size_t count_of(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(RepeatedOperand, IsWhatManyBlocksRead) {
  const std::string text = text_of("X[i, j] + b[j]", {{"M", 4096}, {"N", 4096}});
  EXPECT_EQ(count_of("kw_repeated((const kw_vector<float, 4>*)&b[", text), count_of("&b[", text));
  EXPECT_GE(count_of("kw_repeated(", text), 1U);
  EXPECT_EQ(count_of("*)&X[", text), count_of("= *(const kw_vector<float, 4>*)&X[", text)) << text;
}

TEST(RepeatedOperand, IsSmallAndComesInVectors) {
  // 128 KiB of b are half of the cache; three columns are no 16 bytes.
  EXPECT_EQ(count_of("kw_repeated(", text_of("X[i, j] + b[j]", {{"M", 64}, {"N", 32768}})), 0U);
  EXPECT_EQ(count_of("kw_repeated(", text_of("X[i, j] + b[j]", {{"M", 4096}, {"N", 4099}})), 0U);
  EXPECT_EQ(count_of("kw_repeated(", text_of("X[i, j] + c[i]", {{"M", 4096}, {"N", 4096}})), 0U);
}

TEST(GeluTails, AreAwaitedOnceBehindAllLoads) {
  const std::string text = text_of("gelu(X[i, j] + b[j])", {{"M", 8192}, {"N", 8192}});
  EXPECT_EQ(count_of("kw_bring_tails();", text), 1U);
  ASSERT_EQ(count_of("kw_await_tails();", text), 1U) << text;
  const size_t await = text.find("kw_await_tails();");
  EXPECT_LT(text.find("kw_bring_tails();"), text.find("kw_begin();"));
  EXPECT_LT(text.rfind("&X["), await);
  EXPECT_LT(text.rfind("&b["), await);
  EXPECT_GT(text.find("kw_gelu_by_tails("), await);
  EXPECT_EQ(count_of("&X[", text), 2U) << "two rows to a thread";
  EXPECT_EQ(count_of("&b[", text), 1U) << "and one bias";
}

TEST(GeluTails, AreAwaitedInEachBranchAndBeforeABlockEnds) {
  // The last block of a row has fewer threads.
  const std::string text = text_of("gelu(X[i, j] + b[j])", {{"M", 344}, {"N", 48720}});
  ASSERT_NE(text.find("kw_bring_tails();"), std::string::npos) << text;
  size_t looks = 0;
  for (size_t at = text.find("kw_gelu_by_tails("); at != std::string::npos;
       at = text.find("kw_gelu_by_tails(", at + 1), ++looks) {
    const size_t await = text.rfind("kw_await_tails();", at);
    ASSERT_NE(await, std::string::npos) << text;
    EXPECT_EQ(text.substr(await, at - await).find("} else {"), std::string::npos) << text;
  }
  EXPECT_GT(looks, 8U);
  EXPECT_NE(text.find("  kw_await_tails();\n}\n"), std::string::npos) << "no block ends before";
}

TEST(GeluTails, AreNotAwaitedWhereNobodyLooks) {
  const std::string program = "param M, N\ninput X: bf16[M, N], b: bf16[N]\n"
                              "output Y: bf16[M, N]\nY[i, j] = gelu(X[i, j] + b[j])\n";
  const std::string text =
      cuda_from_kernel(gpu_line::compile(program, "auto", {{"M", 1928}, {"N", 304}}).kernel).text;
  EXPECT_NE(text.find("kw_gelu_short("), std::string::npos) << text;
  EXPECT_EQ(text.find("kw_await_tails"), std::string::npos) << text;
}

TEST(GeluTails, AreAwaitedFirstWhereElementsAreAddedTo) {
  // What an element had before is read when it is added to, not ahead of all.
  const std::string program = "param M, N\ninput X: f32[M, N], b: f32[N]\ninout Y: f32[M, N]\n"
                              "for i in range(M):\n    for j in range(N):\n"
                              "        Y[i, j] += gelu(X[i, j] + b[j])\n";
  const std::string text =
      cuda_from_kernel(gpu_line::compile(program, "auto", {{"M", 8192}, {"N", 8192}}).kernel).text;
  EXPECT_NE(text.find("  kw_bring_tails();\n  kw_await_tails();\n"), std::string::npos) << text;
}

TEST(GeluTails, AreAwaitedFirstWhereLoopsLookThemUp) {
  // Rows that are normalised first: gelu is computed inside.
  const std::string program = R"(param M, N
input X: f32[M, N]
temp mean: f32[M]
output Y: f32[M, N]
mean[i] = sum(j, X[i, j])
Y[i, j] = gelu(X[i, j] - mean[i])
)";
  const std::string all =
      cuda_from_kernel(gpu_line::compile(program, "auto", {{"M", 4096}, {"N", 8192}}).kernel).text;
  const std::string text = all.substr(all.find("__global__"));
  EXPECT_NE(text.find("  kw_bring_tails();\n  kw_await_tails();\n"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::emit
