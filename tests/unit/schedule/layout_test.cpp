#include "unit/schedule/programs.h"

// What a new order of elements does to shapes, indices and the caller's tensors, and which orders
// are none.

namespace kawara::schedule {
namespace {

constexpr const char* kColumns = R"(param M, N
input A: f32[M, N]
output C: f32[N]
temp T: f32[M, N]
for i in range(M):
    for j in range(N):
        T[i, j] = A[i, j] * 2
for j in range(N):
    C[j] = 0
    for i in range(M):
        C[j] += T[i, j]
)";

Schedule laid_out(const std::string& program, const std::string& text) {
  const Schedule start = initial(program);
  auto result = apply(start, directives(text), test_environment());
  if (!result)
    throw std::runtime_error(render(explain(start, result.error(), test_environment())));
  return *std::move(result);
}

/// "T[N, M]"
std::string shape(const Schedule& s, const std::string& tensor) {
  for (const program::Tensor& t : s.scop.tensors) {
    if (t.name != tensor)
      continue;
    std::string text = t.name + "[";
    for (size_t d = 0; d < t.shape.size(); ++d)
      text += (d == 0 ? "" : ", ") +
              scalar::to_string(t.shape[d], poly::names_of(s.scop, poly::StmtId{0}));
    return text + "]";
  }
  return "no " + tensor;
}

/// "T[j, i] = A[i, j] * 2.0"
std::string statement(const Schedule& s, uint32_t number) {
  const program::Statement& text = s.scop.statements[number].text;
  const scalar::Names names = poly::names_of(s.scop, poly::StmtId{number});
  std::string element = s.scop.tensors[text.tensor].name + "[";
  for (size_t d = 0; d < text.index.size(); ++d)
    element += (d == 0 ? "" : ", ") + scalar::to_string(text.index[d], names);
  return element + "] " + std::string(scalar::update_sign(text.op)) + " " +
         scalar::to_string(text.value, names);
}

TEST(Layout, text_is_kept) {
  for (const std::string text : {"layout(B, d1, d0)", "layout(B, d1/16, d0, d1%16)"})
    EXPECT_EQ(print(directives(text)), text);
}

TEST(Layout, a_temp_is_stored_so_by_all_that_touch_it) {
  const Schedule s = laid_out(kColumns, "layout(T, d1, d0)");
  EXPECT_EQ(s.scop.statements.size(), 3U) << "no copy";
  EXPECT_EQ(shape(s, "T"), "T[N, M]");
  EXPECT_EQ(statement(s, 0), "T[j, i] = A[i, j] * 2.0");
  EXPECT_EQ(statement(s, 2), "C[j] += T[j, i]");
}

TEST(Layout, blocks_are_rounded_up_and_come_apart_into_number_and_place) {
  const Schedule s = laid_out(kColumns, "layout(T, d1/16, d0, d1%16)");
  EXPECT_EQ(shape(s, "T"), "T[(N + 15) // 16, M, 16]");
  EXPECT_EQ(statement(s, 0), "T[j // 16, i, j % 16] = A[i, j] * 2.0");
}

TEST(Layout, an_input_is_copied_before_everything) {
  const Schedule s = laid_out(kColumns, "layout(A, d1, d0)");
  ASSERT_EQ(s.scop.statements.size(), 4U);
  EXPECT_EQ(shape(s, "A"), "A[M, N]") << "the caller's";
  EXPECT_EQ(shape(s, "A_laid_out"), "A_laid_out[N, M]");
  EXPECT_EQ(statement(s, 3), "A_laid_out[d1, d0] = A[d0, d1]");
  EXPECT_EQ(statement(s, 0), "T[i, j] = A_laid_out[j, i] * 2.0");
  const std::string loops = poly::print(s.order, poly::names_of_statements(s.scop));
  EXPECT_EQ(loops.find("S3"), std::string("for d0:\n  for d1:\n    ").size()) << loops;
}

TEST(Layout, an_output_is_copied_after_everything) {
  const Schedule s = laid_out(kColumns, "layout(C, d0/4, d0%4)");
  ASSERT_EQ(s.scop.statements.size(), 4U);
  EXPECT_EQ(statement(s, 1), "C_laid_out[j // 4, j % 4] = 0.0");
  EXPECT_EQ(statement(s, 3), "C[d0] = C_laid_out[d0 // 4, d0 % 4]");
  const std::string loops = poly::print(s.order, poly::names_of_statements(s.scop));
  EXPECT_GT(loops.find("S3"), loops.find("S2")) << loops;
}

TEST(Layout, what_comes_later_sees_the_new_order) {
  const Schedule s = laid_out(kColumns, "layout(T, d1, d0); layout(T, d1/2, d0, d1%2)");
  EXPECT_EQ(shape(s, "T"), "T[(M + 1) // 2, N, 2]");
  EXPECT_EQ(statement(s, 2), "C[j] += T[i // 2, j, i % 2]");
}

TEST(Layout, refuses_parts_that_do_not_make_up_the_tensor) {
  for (const char* parts : {"d0", "d0, d0, d1", "d0, d1/4", "d0, d1/4, d1%8", "d0, d1, d2"})
    EXPECT_EQ(outcome(kColumns, "layout(T, " + std::string(parts) + ")"),
              "K0257: cannot lay out `T`")
        << parts;
  EXPECT_NE(message(kColumns, "layout(T, d0)").find("`T` has 2 dimensions, and the layout names 1"),
            std::string::npos);
  EXPECT_NE(message(kColumns, "layout(T, d0, d1, d2)").find("there is no `d2`"), std::string::npos);
  EXPECT_NE(
      message(kColumns, "layout(T, d0, d1/4, d1%8)").find("as `d1/B` and `d1%B` with the same B"),
      std::string::npos)
      << message(kColumns, "layout(T, d0, d1/4, d1%8)");
}

TEST(Layout, refuses_a_tensor_that_is_not_there_or_cannot_move) {
  EXPECT_EQ(outcome(kColumns, "layout(X, d0)"),
            "K0208: cannot lay out `X`: there is no tensor `X`");
  const char* zeros = "param N\ninput A: f32[N]\noutput B: f32[N]\n"
                      "for i in range(N):\n    if i > 2:\n        B[i] = A[i]\n";
  EXPECT_EQ(outcome(zeros, "layout(B, d0)"), "K0257: cannot lay out `B`");
  EXPECT_NE(message(zeros, "layout(B, d0)").find("begins as zeros where nothing writes it"),
            std::string::npos);
}

} // namespace
} // namespace kawara::schedule
