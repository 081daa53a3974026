#include "explain/judged_fusion.h"

#include <gtest/gtest.h>

namespace kawara::explain {
namespace {

FusionVerdict asked(const std::string& text, const std::string& tensor) {
  const auto program = program::parse(make_source("joined.kw", text));
  EXPECT_TRUE(program);
  return judged_fusion(*program, tensor, {target::detect_cpu()});
}

TEST(JudgedFusion, ComputesAProductWhereItsRowsAreRead) {
  const FusionVerdict made =
      asked("input A: f32[8, 8], B: f32[8, 8], C: f32[8, 8]\ntemp T0: f32[8, 8]\n"
            "output Y0: f32[8, 8]\n"
            "for i in range(8):\n    for j in range(8):\n        T0[i, j] = 0\n"
            "for i in range(8):\n    for j in range(8):\n        for k in range(8):\n"
            "            T0[i, j] += A[i, k] * B[k, j]\n"
            "for i in range(8):\n    for j in range(8):\n        Y0[i, j] = 0\n"
            "for i in range(8):\n    for j in range(8):\n        for k in range(8):\n"
            "            Y0[i, j] += T0[i, k] * C[k, j]\n",
            "T0");
  EXPECT_EQ(name_of(made.answer), "legal") << made.witness;
  EXPECT_EQ(made.directives, "compute_at(S1, S3.i)");
}

/// Others need the value: nothing can be computed later, loops can still be one.
TEST(JudgedFusion, MakesOneLoopOfTwoWhereTheValueIsStored) {
  const std::string head = "input A: f32[8]\noutput Y0: f32[8], Y1: f32[8]\n"
                           "for i in range(8):\n    Y0[i] = A[i] * 2\n";
  const FusionVerdict made = asked(head + "for i in range(8):\n    Y1[i] = Y0[i] + 1\n", "Y0");
  EXPECT_EQ(name_of(made.answer), "legal") << made.witness;
  EXPECT_EQ(made.directives, "fuse(S0.i, S1.i)");
  const FusionVerdict later = asked(head + "for i in range(8):\n    Y1[i] = Y0[7 - i] + 1\n", "Y0");
  EXPECT_EQ(name_of(later.answer), "illegal");
  EXPECT_EQ(later.directives, "fuse(S0.i, S1.i)");
  EXPECT_NE(later.witness.find("S0 at (i="), std::string::npos) << later.witness;
}

TEST(JudgedFusion, IsNotAskedWithoutLoops) {
  const FusionVerdict made =
      asked("input A: f32\ntemp T0: f32\noutput Y0: f32\nT0 = A * 2\nY0 = T0 + 1\n", "T0");
  EXPECT_EQ(name_of(made.answer), "not asked");
  EXPECT_EQ(made.witness, "there are no loops around the value");
}

} // namespace
} // namespace kawara::explain
