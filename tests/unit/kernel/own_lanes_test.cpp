#include "unit/kernel/line.h"

#include "kernel/walk.h"

namespace kawara {
namespace {

// Lanes along the rows of the result, in tiles of four columns; how many the last has is not known
// (peel_last_tiles.h has the others).
const std::string kRows = "param N\ninput X: f32[12, N]\nconst W: f32[16, 12]\n"
                          "output C: f32[16, N]\n\n"
                          "C[m, o] = sum(c, X[c, o] * W[m, c])\n";
const std::string kAcross = "distribute(m); tile(S1.m=8, S1.o=4); reorder(S1.o.0, S1.m.0, S1.c, "
                            "S1.o.1, S1.m.1); unroll(S1.o.1); vectorize(S1.m.1, 4); "
                            "parallel(S1.o.0)";

/// The part of the kernel where the columns are fewer than four.
std::string last_columns(const std::string& numerics) {
  const line::Line made = line::compile(numerics + kRows, kAcross);
  const std::string text = kernel::print(kernel::optimise(made.kernel, line::test_cpu()));
  return text.substr(std::min(text.find("else:"), text.size()));
}

TEST(OwnLanes, OfFewerColumnsAreVectorsToo) {
  const std::string rest = last_columns("");
  EXPECT_NE(rest.find("private C_tile: f32[8]"), std::string::npos) << rest;
  EXPECT_NE(rest.find("f32x4"), std::string::npos) << rest;
}

TEST(OwnLanes, LastOverTheWholeReduction) {
  const std::string text =
      "param N\ninput X: f32[3, 4, N]\nconst W: f32[16, 3, 4]\noutput C: f32[16, N]\n\n"
      "C[m, o] = sum((c, k), X[c, k, o] * W[m, c, k])\n";
  const std::string directives =
      "distribute(m); tile(S1.m=8, S1.o=4); reorder(S1.o.0, S1.m.0, S1.c, S1.k, S1.o.1, S1.m.1); "
      "unroll(S1.o.1); vectorize(S1.m.1, 4); parallel(S1.o.0)";
  const line::Line made = line::compile(text, directives);
  const std::string all = kernel::print(kernel::optimise(made.kernel, line::test_cpu()));
  const std::string rest = all.substr(std::min(all.find("else:"), all.size()));
  EXPECT_LT(rest.find("private C_tile: f32[8]"), rest.find("for c in")) << rest;
  line::expect_same(text, directives, {{13}, {4}});
}

TEST(OwnLanes, KeepTheOrderOfExactSums) {
  const std::string rest = last_columns("numerics exact\n");
  EXPECT_EQ(rest.find("private C_tile: f32[8]"), std::string::npos) << rest;
  EXPECT_NE(last_columns("").find("private C_tile: f32[8]"), std::string::npos) << last_columns("");
}

TEST(OwnLanes, ComputeTheSame) {
  line::expect_same(kRows, kAcross, {{13}, {3}, {8}});
  line::expect_same("numerics exact\n" + kRows, kAcross, {{13}, {3}});
}

// Each product is rounded to eight bits before the next: nothing of it runs as a vector, and 16
// copies would help nobody.
TEST(OwnLanes, LoopsWithoutVectorsStayAsTheyAre) {
  const char* product = R"(param N
numerics rounding
inout A: i8[N]
input B: i8[N], C: i8[N, 1]
for j in range(N):
    for i in range(N):
        A[j] *= max(B[i], C[j, 0])
)";
  const kernel::Kernel made =
      kernel::optimise(line::compile(product, "vectorize(i, 16)").kernel, line::test_cpu());
  size_t statements = 0;
  kernel::visit(made.body, [&](const kernel::Stmt&) { ++statements; });
  EXPECT_LE(statements, 8) << kernel::print(made);
  line::expect_same(product, "vectorize(i, 16)", {{1}, {16}, {35}});
}

} // namespace
} // namespace kawara
