#include "kernel/index/addresses.h"
#include "kernel/index/hoist.h"
#include "kernel/walk.h"
#include "unit/kernel/line.h"

namespace kawara {
namespace {

using line::compile;

constexpr const char* kAddressedGemm = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
inout C: f32[M, N]
for i in range(M):
    for k in range(K):
        for j in range(N):
            C[i, j] += A[i, k] * B[k, j]
)";

std::string with_rows(const std::string& text, const std::string& directives = "") {
  const kernel::Kernel made = kernel::addresses(compile(text, directives).kernel);
  EXPECT_EQ(kernel::spec(made), std::vector<std::string>{});
  return kernel::print(made);
}

TEST(Addresses, OneRowForEachLoopThatLeavesItAlone) {
  const std::string text = with_rows(kAddressedGemm);
  EXPECT_TRUE(line::has(text, "  let C_row: i64 = i * N\n")) << text;
  EXPECT_TRUE(line::has(text, "  let A_row: i64 = i * K\n")) << text;
  EXPECT_TRUE(line::has(text, "    let B_row: i64 = k * N\n")) << text;
  EXPECT_TRUE(line::has(text, "C[C_row + j] += A[A_row + k] * B[B_row + j]")) << text;
}

TEST(Addresses, NeighboursShareARow) {
  const std::string text = with_rows(R"(param N
input A: f64[N, N]
output B: f64[N, N]
for i in range(1, N - 1):
    for j in range(1, N - 1):
        B[i, j] = A[i - 1, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j]
)");
  EXPECT_TRUE(line::has(text, "A_row")) << text;
  EXPECT_FALSE(line::has(text, "A_row_1")) << text;
  EXPECT_TRUE(line::has(text, "A[A_row + j - N]")) << text;
  EXPECT_TRUE(line::has(text, "A[A_row + j + N]")) << text;
}

TEST(Addresses, RowsBuildOnRowsOfOuterLoops) {
  const std::string text = with_rows(R"(param P, Q, R
input A: f32[P, Q, R]
inout s: f32[P, Q]
for i in range(P):
    for j in range(Q):
        for k in range(R):
            s[i, j] += A[i, j, k]
)");
  EXPECT_TRUE(line::has(text, "let A_row: i64 = i * (Q * R)")) << text;
  EXPECT_TRUE(line::has(text, "let A_row_1: i64 = A_row + j * R")) << text;
  EXPECT_TRUE(line::has(text, "A[A_row_1 + k]")) << text;
}

TEST(Addresses, NothingLeavesAParallelLoop) {
  const std::string text = with_rows(kAddressedGemm, "parallel(i)");
  const size_t loop = text.find("for i "), row = text.find("let C_row");
  ASSERT_NE(row, std::string::npos) << text;
  EXPECT_LT(loop, row) << text;
  // Here the parallel loop is inside: the row of i would have to come from outside of it.
  const std::string inner = with_rows(kAddressedGemm, "interchange(k, j); parallel(j)");
  EXPECT_LT(inner.find("for j "), inner.find("let A_row")) << inner;
}

TEST(Addresses, WithoutAMultiplicationThereIsNoRow) {
  const std::string text = with_rows(R"(param N
input a: f32[2*N]
output b: f32[N]
for i in range(N):
    for j in range(i):
        b[i] = a[i + j]
)");
  EXPECT_FALSE(line::has(text, "let ")) << text;
}

TEST(Addresses, MeaningIsKeptOnEveryPath) {
  const std::vector<std::vector<int64_t>> sizes = {{1, 1, 1}, {7, 9, 5}, {16, 12, 8}};
  line::expect_same(kAddressedGemm, "", sizes);
  line::expect_same(kAddressedGemm, "parallel(i); vectorize(j, 4)", sizes);
  line::expect_same(kAddressedGemm,
                    "tile(i=4, k=3, j=8); reorder(i.0, j.0, k.0, k.1, i.1, j.1); unroll(i.1); "
                    "vectorize(j.1, 4)",
                    sizes);
  line::expect_same(kAddressedGemm, "reverse(j); interchange(i, j)", sizes);
}

TEST(Addresses, ElementsAreStillCheckedWhenTheyAreFlat) {
  kernel::Kernel made = kernel::addresses(compile(kAddressedGemm).kernel);
  made.buffers[2].shape[0] = scalar::int_lit(1);
  std::vector<kernel::Elements> arguments(3, kernel::Elements(4, scalar::float_value(1)));
  arguments[2].resize(2);
  const auto done = kernel::interpret(made, {2, 2, 2}, arguments);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "C[2] is out of bounds");
}

TEST(Addresses, AFlatIndexHasOnePart) {
  kernel::Kernel made = compile("input A: f32[2, 3, 4]\noutput b: f32\nb = A[0, 0, 0]\n").kernel;
  made.body = kernel::map_exprs(made.body, [](const kernel::Expr& e) {
    return scalar::rewrite(e, [](const kernel::Expr& n) {
      const auto* load = scalar::as<scalar::Load>(n);
      return load != nullptr && load->index.size() == 3
                 ? scalar::load(load->tensor, {load->index[0], load->index[1]}, n.type())
                 : kernel::Expr();
    });
  });
  EXPECT_FALSE(kernel::spec(made).empty());
}

// Ends of inner loops are computed in the body of the parallel loop, not outside of it.
TEST(Hoist, NothingLeavesAParallelLoop) {
  const kernel::Kernel made = kernel::hoist(compile(R"(param N
inout A: f32[N, N]
for i in range(N):
    for j in range(N):
        A[i, j] = A[i, j] * 2
)",
                                                    "split(j, 8); parallel(i)")
                                                .kernel);
  const std::string text = kernel::print(made);
  ASSERT_NE(text.find("j_0_end"), std::string::npos) << text;
  EXPECT_LT(text.find("for i "), text.find("let j_0_end")) << text;
}

} // namespace
} // namespace kawara
