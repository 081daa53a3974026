#include "unit/program/text_of.h"

namespace kawara::program {
namespace {

const std::string kReductionHead = "param N, M\n"
                                   "input A: f32[N, M], x: f32[M], w: f32[3], n: i8[M]\n"
                                   "output C: f32[N], D: f32[N, M], I: i32[N], m: i8\n";

TEST(Reduction, WholeRightSideIsInitialisationAndUpdateInOneNest) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] = sum(k, A[i, k] * x[k])\n"),
            "for i in range(N):\n    C[i] = 0.0\n    for k in range(M):\n"
            "        C[i] += A[i, k] * x[k]\n");
  EXPECT_EQ(
      body_of(kReductionHead + "C[i] = max(k, A[i, k])\n"),
      "for i in range(N):\n    C[i] = -inf\n    for k in range(M):\n        C[i] max= A[i, k]\n");
}

TEST(Reduction, OfNarrowFloatsIsRoundedOnceAtItsEnd) {
  const std::string head = "param N, M\ninput A: bf16[N, M]\ninout C: bf16[N], h: f16[N]\n";
  EXPECT_EQ(body_of(head + "C[i] = sum(k, A[i, k])\n"),
            "for i in range(N):\n    _sum0[i] = 0.0\n    for k in range(M):\n"
            "        _sum0[i] += f32(A[i, k])\n    C[i] = _sum0[i]\n");
  EXPECT_EQ(body_of(head + "h[i] += sum(k, A[i, k])\n"),
            "for i in range(N):\n    _sum0[i] = 0.0\n    for k in range(M):\n"
            "        _sum0[i] += f32(A[i, k])\n    h[i] += _sum0[i]\n");
  EXPECT_EQ(body_of(head + "for i in range(N):\n    for k in range(M):\n        C[i] += A[i, k]\n"),
            "for i in range(N):\n    for k in range(M):\n        C[i] += f32(A[i, k])\n")
      << "loops mean what they say";
}

TEST(Reduction, UpdateWithTheSameOperatorNeedsNoTemp) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] -= sum(k, A[i, k])\n"),
            "for i in range(N):\n    for k in range(M):\n        C[i] += -A[i, k]\n");
}

TEST(Reduction, StartFitsTheElementType) {
  EXPECT_EQ(body_of(kReductionHead + "m = max(k, n[k])\n"),
            "m = -128\nfor k in range(M):\n    m max= i32(n[k])\n");
}

TEST(Reduction, SeveralIndicesInBothSpellings) {
  const std::string expected = "C[0] = 0.0\nfor i in range(N):\n    for j in range(M):\n"
                               "        C[0] += A[i, j]\n";
  EXPECT_EQ(body_of(kReductionHead + "C[0] = sum((i, j), A[i, j])\n"), expected);
  EXPECT_EQ(body_of(kReductionHead + "C[0] = sum(i, j, A[i, j])\n"), expected);
}

TEST(Reduction, ExplicitRange) {
  EXPECT_EQ(body_of(kReductionHead + "D[i, j] = sum(k in range(1, 3), w[k] * A[i, j + k])\n"),
            "for i in range(N):\n    for j in range(M):\n        D[i, j] = 0.0\n"
            "        for k in range(1, 3):\n            D[i, j] += w[k] * A[i, j + k]\n");
}

TEST(Reduction, NestedOneThatDependsOnAllFreeIndicesSharesTheNest) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] = 1 / sum(k, A[i, k])\n"),
            "for i in range(N):\n    _sum0[i] = 0.0\n    for k in range(M):\n"
            "        _sum0[i] += A[i, k]\n    C[i] = 1.0 / _sum0[i]\n");
}

TEST(Reduction, NestedOneThatDependsOnFewerIndicesIsComputedOnceBefore) {
  EXPECT_EQ(
      body_of(kReductionHead + "D[i, j] = exp(A[i, j] - max(k, A[i, k])) / sum(k, exp(x[k]))\n"),
      "for i in range(N):\n    _max0[i] = -inf\n    for k in range(M):\n"
      "        _max0[i] max= A[i, k]\n"
      "_sum1 = 0.0\nfor k in range(M):\n    _sum1 += exp(x[k])\n"
      "for i in range(N):\n    for j in range(M):\n"
      "        D[i, j] = exp(A[i, j] - _max0[i]) / _sum1\n");
}

TEST(Reduction, InsideAnother) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] = sum(k, x[k] * max(j, A[j, k]))\n"),
            "for k in range(M):\n    _max0[k] = -inf\n    for j in range(N):\n"
            "        _max0[k] max= A[j, k]\n"
            "for i in range(N):\n    C[i] = 0.0\n    for k in range(M):\n"
            "        C[i] += x[k] * _max0[k]\n");
}

TEST(Reduction, InnerTempIsFilledBeforeTheOuterOneReadsIt) {
  const std::string body =
      body_of(kReductionHead + "C[i] = sum(k, A[i, k] * max(j, A[j, k] * sum(l, A[i, l])))\n");
  EXPECT_LT(body.find("_sum0[i] ="), body.find("_max1[i, k] ="));
  EXPECT_LT(body.find("_max1[i, k] ="), body.find("C[i] ="));
}

TEST(Reduction, TempInsideLoopsHasACellPerIteration) {
  EXPECT_EQ(body_of(kReductionHead + "for i in range(2, N):\n    C[i] = C[i] / sum(k, A[i, k])\n"),
            "for i in range(2, N):\n    _sum0[i - 2] = 0.0\n    for k in range(M):\n"
            "        _sum0[i - 2] += A[i, k]\n    C[i] = C[i] / _sum0[i - 2]\n");
  const Program p =
      parsed(kReductionHead + "for i in range(2, N):\n    C[i] = C[i] / sum(k, A[i, k])\n");
  EXPECT_EQ(scalar::to_string(p.tensors.back().shape[0], names_of(p)), "max(0, N - 2)");
  EXPECT_TRUE(p.tensors.back().is_hidden);
}

TEST(Reduction, TempIsIndexedByLoopsWithAFixedRangeOnly) {
  EXPECT_EQ(body_of(kReductionHead + "for i in range(N):\n    for j in range(i):\n"
                                     "        D[i, j] = 2 * sum(k, A[j, k])\n"),
            "for i in range(N):\n    for j in range(i):\n        _sum0[i] = 0.0\n"
            "        for k in range(M):\n            _sum0[i] += A[j, k]\n"
            "        D[i, j] = 2.0 * _sum0[i]\n");
}

TEST(Reduction, ReadingTheTargetNeedsATemp) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] = sum(k, C[k])\n"),
            "_sum0 = 0.0\nfor k in range(N):\n    _sum0 += C[k]\n"
            "for i in range(N):\n    C[i] = _sum0\n");
}

TEST(Reduction, ArgmaxOfElementsIsTwoReductions) {
  EXPECT_EQ(body_of(kReductionHead + "I[i] = argmax(j, A[i, j])\n"),
            "for i in range(N):\n    _max0[i] = -inf\n    for j in range(M):\n"
            "        _max0[i] max= select(A[i, j] == A[i, j], A[i, j], -inf)\n    _at1[i] = M\n"
            "    for j in range(M):\n        _at1[i] min= select(A[i, j] == _max0[i], j, M)\n"
            "    I[i] = i32(select(_max0[i] == -inf, 0, _at1[i]))\n");
}

TEST(Reduction, ArgmaxOfOtherValuesIsFourStatementsAndTheFirstIndexWins) {
  EXPECT_EQ(body_of(kReductionHead + "I[i] = argmax(j, A[i, j] * 2)\n"),
            "for i in range(N):\n    _max0[i] = -inf\n    I[i] = 0\n    for j in range(M):\n"
            "        I[i] = select(A[i, j] * 2.0 > _max0[i], i32(j), I[i])\n"
            "        _max0[i] max= select(A[i, j] * 2.0 == A[i, j] * 2.0, A[i, j] * 2.0, -inf)\n");
}

TEST(Reduction, ArgminInsideAnExpression) {
  EXPECT_EQ(body_of(kReductionHead + "I[0] = 1 + argmin(j in range(1, M), x[j])\n"),
            "_min1 = inf\nfor j in range(1, M):\n"
            "    _min1 min= select(x[j] == x[j], x[j], inf)\n_argmin0 = max(1, M)\n"
            "for j in range(1, M):\n    _argmin0 min= select(x[j] == _min1, j, max(1, M))\n"
            "_argmin0 = select(_min1 == inf, 1, _argmin0)\nI[0] = i32(1 + _argmin0)\n");
}

TEST(Reduction, MaxOfBoundNamesIsTheScalarFunction) {
  EXPECT_EQ(body_of(kReductionHead + "C[i] = max(i, x[0])\n"),
            "for i in range(N):\n    C[i] = max(f32(i), x[0])\n");
  EXPECT_EQ(body_of(kReductionHead + "C[i] = max(N, i)\n"),
            "for i in range(N):\n    C[i] = f32(max(N, i))\n");
}

TEST(Reduction, HiddenNamesAvoidDeclaredOnes) {
  EXPECT_NE(print(parsed(kReductionHead + "temp _sum0: f32\n_sum0 = 0\nC[i] = 1 / sum(k, x[k])\n"))
                .find("temp _sum1: f32\n"),
            std::string::npos);
}

} // namespace
} // namespace kawara::program
