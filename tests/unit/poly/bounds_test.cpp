#include "unit/poly/scops.h"

namespace kawara::poly {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Bounds, NameTheFirstIterationOutside) {
  const std::string text = refusal_of(R"(param N
inout A: f32[N]
for i in range(N):
    A[i] = A[i + 1]
)");
  EXPECT_TRUE(has(text, "K0170")) << text;
  EXPECT_TRUE(has(text, "S0 reads outside tensor `A`")) << text;
  EXPECT_TRUE(has(text, "S0 at (i=0) with N=1 reads A[1], but `A` has shape [1].")) << text;
  EXPECT_TRUE(has(text, "this happens whenever N > 0")) << text;
}

TEST(Bounds, AreProvedFromWhatIsAssumed) {
  const std::string body = R"(inout A: f32[N]
A[3] = 1
)";
  EXPECT_TRUE(has(refusal_of("param N\n" + body), "S0 with N=0 writes A[3]"));
  EXPECT_EQ(refusal_of("param N\nassume N >= 4\n" + body), "");
}

TEST(Bounds, FollowConditionsAndRemainders) {
  EXPECT_EQ(refusal_of(R"(param N
inout A: i32[N], B: i32[4]
for i in range(N):
    if i + 1 < N:
        A[i] = A[i + 1] + B[i % 4]
)"),
            "");
}

TEST(Bounds, RefuseATempReadBeforeItIsWritten) {
  const std::string text = refusal_of(R"(param N
temp T: i32[N]
output B: i32[N]
for i in range(1, N):
    T[i] = 1
for i in range(N):
    B[i] = T[i]
)");
  EXPECT_TRUE(has(text, "K0171")) << text;
  EXPECT_TRUE(has(text, "S1 at (i=0) with N=1 reads T[0], and no statement writes that element "
                        "earlier."))
      << text;
}

TEST(Bounds, WarnOfAnOutputElementThatNobodyWrites) {
  const Scop scop = scop_of(R"(param N
output B: i32[N]
for i in range(1, N):
    B[i] = 1
)");
  ASSERT_EQ(scop.warnings.size(), 1u);
  EXPECT_EQ(scop.warnings[0].code, "K0172");
  EXPECT_EQ(scop.warnings[0].body[0], "B[0] with N=1 is never written; it will be zero.");
  EXPECT_EQ(scop.zeroed_outputs, (std::vector<uint32_t>{0}));
}

} // namespace
} // namespace kawara::poly
