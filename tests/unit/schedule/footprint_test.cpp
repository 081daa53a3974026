#include "programs.h"

namespace kawara::schedule {
namespace {

/// Iterations of `i` read cells of one parity: which are the first and last, and whether there is any, needs divisions.
constexpr const char* kParity = R"(param N
input T: f32[2 * N]
inout A: f32[N]
for i in range(N):
    for j in range(N):
        if (i - j) % 2 == 0:
            A[j] += T[i - j + N]
)";

/// Which residues a cell has: a case of its own for each set of them.
constexpr const char* kResidues = R"(param N
input T: f32[2 * N]
inout A: f32[N]
for i in range(N):
    for j in range(N):
        if (i + j) % 2 < 1:
            if (i + 2 * j) % 3 < 2:
                if (i + 3 * j) % 4 < 3:
                    A[j] += T[i - j + N]
)";

/// Empty: none.
std::string refusal_under(const char* program, const char* schedule,
                          const Environment& environment) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(schedule), environment);
  return result ? "" : render(explain(start, result.error(), environment));
}

TEST(Footprint, OfEverySecondCellTakesFewOperations) {
  Environment frugal = test_environment();
  frugal.quota /= 400;
  EXPECT_EQ(
      refusal_under(kParity, "stage(T, i, panel=0, width=2); promote(T_staged, d0.1)", frugal), "");
  EXPECT_EQ(refusal_under(kParity, "stage(T, i, d0=4); promote(T_staged, S2.d0)", frugal), "");
  const std::string grows = refusal_under(kParity, "stage(T, i); promote(T_staged, d0)", frugal);
  EXPECT_NE(grows.find("K0256"), std::string::npos) << grows;
}

TEST(Footprint, WithVeryManyDivisionsIsUndecided) {
  const std::string said = refusal_under(kResidues, "stage(T, i)", test_environment());
  EXPECT_NE(said.find("K0206"), std::string::npos) << said;
  EXPECT_NE(said.find("sets of more than"), std::string::npos) << said;
}

} // namespace
} // namespace kawara::schedule
