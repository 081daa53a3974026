#include "unit/schedule/programs.h"

// How long a ring is, which dimension becomes one, and when no ring is long enough.

namespace kawara::schedule {
namespace {

/// Windows of three rows.
constexpr const char* kWindow = R"(param H, W
input image: f32[H + 2, W]
output out: f32[H, W]
temp rows: f32[H + 2, W]
for y in range(H + 2):
    for x in range(W):
        rows[y, x] = image[y, x] * 2
for y in range(H):
    for x in range(W):
        out[y, x] = rows[y, x] + rows[y + 1, x] + rows[y + 2, x]
)";
const std::string kTogether = "shift(S1.y, 2); fuse(S0.y, S1.y); ";

/// "rows[3, W]; rows[y % 3, x]": the temp and the element that S0 writes, or the refusal.
std::string folded(const std::string& program, const std::string& text) {
  const Schedule start = initial(program);
  const auto made = apply(start, directives(text), test_environment());
  if (!made)
    return explain(start, made.error(), test_environment()).code;
  const program::Statement& first = made->scop.statements[0].text;
  const program::Tensor& tensor = made->scop.tensors[first.tensor];
  const scalar::Names names = poly::names_of(made->scop, poly::StmtId{0});
  const auto list = [&](const std::vector<scalar::Expr>& parts) {
    std::string said = tensor.name + "[";
    for (size_t d = 0; d < parts.size(); ++d)
      said += (d == 0 ? "" : ", ") + scalar::to_string(parts[d], names);
    return said + "]";
  };
  return list(tensor.shape) + "; " + list(first.index);
}

TEST(Fold, text_is_kept) {
  for (const std::string text : {"fold(T, y)", "fold(T, S0.y, 4)"})
    EXPECT_EQ(print(directives(text)), text);
}

TEST(Fold, keeps_as_many_rows_as_are_in_use) {
  EXPECT_EQ(folded(kWindow, kTogether + "fold(rows, y)"), "rows[3, W]; rows[y % 3, x]");
  EXPECT_EQ(folded(kWindow, "shift(S1.y, 5); fuse(S0.y, S1.y); fold(rows, y)"),
            "rows[6, W]; rows[y % 6, x]")
      << "what reads comes three rows later";
}

TEST(Fold, keeps_more_where_that_is_asked_for) {
  EXPECT_EQ(folded(kWindow, kTogether + "fold(rows, y, 4)"), "rows[4, W]; rows[y % 4, x]");
}

TEST(Fold, takes_every_index_of_the_temp_modulo_the_length) {
  const auto made =
      apply(initial(kWindow), directives(kTogether + "fold(rows, y)"), test_environment());
  ASSERT_TRUE(made);
  EXPECT_EQ(scalar::to_string(made->scop.statements[1].text.value,
                              poly::names_of(made->scop, poly::StmtId{1})),
            "rows[y % 3, x] + rows[(y + 1) % 3, x] + rows[(y + 2) % 3, x]");
}

TEST(Fold, leaves_the_loops_as_they_are) {
  EXPECT_EQ(outcome(kWindow, kTogether + "fold(rows, y)"),
            outcome(kWindow, "shift(S1.y, 2); fuse(S0.y, S1.y)"));
}

TEST(Fold, is_judged_by_what_comes_after) {
  EXPECT_EQ(folded(kWindow, kTogether + "fold(rows, y); parallel(y)"), "K0204")
      << "threads cannot share a ring";
  EXPECT_EQ(folded(kWindow, kTogether + "fold(rows, y); parallel(S0.x)"),
            "rows[3, W]; rows[y % 3, x]");
}

TEST(Fold, refuses_a_ring_that_is_too_short) {
  EXPECT_EQ(outcome(kWindow, kTogether + "fold(rows, y, 2)"),
            "K0255: cannot fold `rows` along loop `y`");
  const std::string said = message(kWindow, kTogether + "fold(rows, y, 2)");
  EXPECT_NE(said.find("S0 at y = 2, x = 0 would write"), std::string::npos) << said;
  EXPECT_NE(said.find("Live at the same time are 3."), std::string::npos) << said;
  EXPECT_EQ(outcome(kWindow, kTogether + "fold(rows, y, 0)").substr(0, 5), "K0212");
}

TEST(Fold, refuses_where_no_length_is_enough) {
  const std::string said = message(kWindow, "fold(rows, S0.y)");
  EXPECT_NE(said.find("K0255"), std::string::npos) << said;
  EXPECT_NE(said.find("grows with the sizes"), std::string::npos) << said;
  EXPECT_NE(said.find("shift and fuse their loops"), std::string::npos) << said;
}

TEST(Fold, refuses_tensors_of_the_caller_and_loops_that_do_not_write) {
  EXPECT_NE(message(kWindow, "fold(out, S1.y)").find("`out` is an output"), std::string::npos);
  EXPECT_NE(message(kWindow, "fold(image, S0.y)").find("`image` is an input"), std::string::npos);
  EXPECT_NE(message(kWindow, "fold(rows, S1.y)").find("Nothing below `S1.y` writes `rows`"),
            std::string::npos);
  EXPECT_EQ(outcome(kWindow, "fold(T, S0.y)"),
            "K0208: cannot fold `T` along loop `S0.y`: there is no tensor `T`");
}

TEST(Fold, refuses_where_nothing_would_be_saved) {
  const char* small = R"(input A: f32[3]
output B: f32[1]
temp T: f32[3]
for i in range(3):
    T[i] = A[i]
for i in range(1):
    B[i] = T[i] + T[i + 2]
)";
  EXPECT_NE(message(small, "shift(S1.i, 2); fuse(S0.i, S1.i); fold(T, i)")
                .find("Dimension 0 has 3 elements, and 3 would be kept: nothing is saved."),
            std::string::npos);
}

} // namespace
} // namespace kawara::schedule
