#include "poly/legality/in_place.h"
#include "unit/poly/scops.h"

namespace kawara::poly {
namespace {

/// The program in one memory, or why not.
std::string together(const std::string& statements, const std::string& more = "") {
  const auto program = program::parse(
      make_source("test.kw", "input X: f32[8, 8]\n" + more + "output Y: f32[8, 8]\n" + statements));
  if (!program)
    throw std::runtime_error(render(program.error()));
  const auto number = [&](const char* name) {
    uint32_t t = 0;
    while (program->tensors[t].name != name)
      ++t;
    return t;
  };
  const auto made = in_place(*program, number("X"), number("Y"));
  return made ? program::print(*made) : made.error();
}

TEST(InPlace, MakesOneTensorOfWhatIsReadWhereItIsWritten) {
  EXPECT_EQ(together("Y[i, j] = X[i, j] + B[j]\n", "input B: f32[8]\n"), R"(input B: f32[8]
inout Y: f32[8, 8]

for i in range(8):
    for j in range(8):
        Y[i, j] = Y[i, j] + B[j]
)");
}

TEST(InPlace, NeedsTheSameIterationForReadAndWrite) {
  EXPECT_EQ(together("Y[i, j] = X[j, i]\n"),
            "S0 reads elements after another iteration writes them");
  EXPECT_EQ(together("Y[i, j] = X[i, j] + X[i, 7 - j]\n"),
            "S0 reads elements after another iteration writes them");
  // Before all is written is not enough: no tile of Y could be finished before X is used up.
  EXPECT_EQ(together("T[i, j] = sum(k in range(8), X[i, k] * X[k, j])\nY[i, j] = T[i, j]\n",
                     "temp T: f32[8, 8]\n")
                .find("reads elements before another iteration of"),
            3U);
}

TEST(InPlace, NeedsAResultThatIsStoredAsAWhole) {
  EXPECT_EQ(together("for i in range(8):\n    for j in range(7):\n        Y[i, j] = X[i, j]\n"),
            "some elements of the result are not written");
  EXPECT_EQ(together("for i in range(8):\n    for j in range(8):\n        Y[i, j] = X[i, j]\n"
                     "        Y[i, j] += 1\n"),
            "S1 reads the result");
}

TEST(InPlace, NeedsOneShape) {
  const auto program = program::parse(
      make_source("test.kw", "input X: f32[64]\noutput Y: f32[8, 8]\nY[i, j] = X[8 * i + j]\n"));
  ASSERT_TRUE(static_cast<bool>(program));
  EXPECT_EQ(in_place(*program, 0, 1).error(), "they have other shapes or types");
}

} // namespace
} // namespace kawara::poly
