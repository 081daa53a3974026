#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

constexpr const char* kProduct = R"(param M, N, K
input A: f32[M, K], B: f32[K, N]
output C: f32[M, N]
for i in range(M):
    for j in range(N):
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

Schedule made(const std::string& program, const std::string& text) {
  const Schedule start = initial(program);
  auto result = apply(start, directives(text), test_environment());
  if (!result)
    throw std::runtime_error(render(explain(start, result.error(), test_environment())));
  return *std::move(result);
}

/// "B_staged[(K + 3) // 4, 4, N]"
std::string shape_of(const Schedule& s, uint32_t tensor) {
  const program::Tensor& t = s.scop.tensors[tensor];
  std::string text = t.name + "[";
  for (size_t d = 0; d < t.shape.size(); ++d)
    text += (d == 0 ? "" : ", ") +
            scalar::to_string(t.shape[d], poly::names_of(s.scop, poly::StmtId{0}));
  return text + "]";
}

TEST(Stage, text_is_kept) {
  for (const std::string text :
       {"stage(B, k.0)", "stage(B, S1.k.0, panel=1, width=12)", "pack(B, k.0)",
        "pack(B, k.0, reader=S2)", "pack(B, type=f32, reader=S2)"})
    EXPECT_EQ(print(directives(text)), text);
  EXPECT_EQ(print(directives("stage(B, k.0, 1, 12)")), "stage(B, k.0, panel=1, width=12)");
}

TEST(Stage, elements_that_nothing_has_written_are_not_copied) {
  // A layout of 4 elements as 2 x 3 leaves two that nobody writes; the box of the odd elements has
  // one of them.
  const Schedule s = made(R"(inout B: f32[2]
temp T: f32[4]
for i in range(4):
    T[i] = 0
for i in range(2):
    for k in range(2):
        B[i] = T[2 * k + 1] + 0
)",
                          "layout(T, d0/3, d0%3); stage(T, S1.i)");
  const isl::set expected(s.scop.context_owner->get(),
                          "{ S2[i, 0, 1] : 0 <= i < 2; S2[i, 1, 0] : 0 <= i < 2 }");
  EXPECT_TRUE(s.scop.statements[2].domain.is_equal(expected)) << s.scop.statements[2].domain;
}

TEST(Stage, copies_the_box_that_an_iteration_reads) {
  const Schedule s = made(kProduct, "split(k, 4); reorder(k.0, i, j, k.1); stage(B, k.0)");
  ASSERT_EQ(s.scop.statements.size(), 2U);
  const isl::set expected(
      s.scop.context_owner->get(),
      "[M, N, K] -> { S1[o, r, c] : M > 0 and 4o <= r < 4o + 4 and 0 <= r < K and 0 <= c < N }");
  EXPECT_TRUE(s.scop.statements[1].domain.is_equal(expected));
  EXPECT_EQ(s.scop.tensors[3].private_dims, 1U);
  EXPECT_EQ(shape_of(s, 3), "B_staged[(K + 3) // 4, 4, N]");
}

TEST(Stage, panels_come_first_and_their_width_last) {
  const Schedule s =
      made(kProduct, "split(k, 4); reorder(k.0, i, j, k.1); stage(B, k.0, panel=1, width=8)");
  EXPECT_EQ(shape_of(s, 3), "B_staged[(K + 3) // 4, (N + 7) // 8, 4, 8]");
}

TEST(Stage, names_of_buffers_and_loops_are_free_ones) {
  const Schedule s = made(R"(param N
input A: f32[N], A_staged: f32[N]
output B: f32[N]
for d0 in range(N):
    for j in range(N):
        B[d0] += A[j] + A_staged[j]
)",
                          "stage(A, d0); stage(A_staged, d0)");
  EXPECT_EQ(s.scop.tensors[3].name, "A_staged_");
  EXPECT_EQ(s.scop.tensors[4].name, "A_staged_staged");
  EXPECT_EQ(poly::print(s.order, poly::names_of_statements(s.scop)), "for d0:\n"
                                                                     "  for d0_:\n"
                                                                     "    S1\n"
                                                                     "  for d0_:\n"
                                                                     "    S2\n"
                                                                     "  for j:\n"
                                                                     "    S0\n");
}

TEST(Stage, the_copy_stands_before_its_first_reader) {
  EXPECT_EQ(outcome(R"(param N
input A: f32[N]
output B: f32[N], C: f32[N], D: f32[N]
for i in range(N):
    B[i] = 1
    C[i] = A[i]
    D[i] = A[N - 1 - i]
)",
                    "stage(A, i)"),
            "\n"
            "for i:\n"
            "  S0\n"
            "  for d0:\n"
            "    S3\n"
            "  S1\n"
            "  S2\n");
}

TEST(Stage, a_tensor_without_dimensions_is_one_element) {
  const char* program = R"(param N
input a: f32, x: f32[N]
output y: f32[N]
for i in range(N):
    y[i] = a * x[i]
)";
  EXPECT_EQ(outcome(program, "stage(a, i)"), "\nfor i:\n  S1\n  S0\n");
  EXPECT_EQ(outcome(program, "pack(a, i)"), "\nfor i:\n  S1\n  S0\n");
}

TEST(Pack, leaves_out_loops_that_lead_to_the_same_elements) {
  const Schedule s = made(kProduct, "tile(k=4, j=6); reorder(k.0, j.0, i, k.1, j.1); pack(B, k.0)");
  EXPECT_EQ(shape_of(s, 3), "B_packed[(K + 3) // 4, (N + 5) // 6, 4, 6]");
}

TEST(Pack, one_element_needs_no_loop) {
  EXPECT_EQ(outcome(kProduct, "pack(A, k)"), "\n"
                                             "for i:\n"
                                             "  for j:\n"
                                             "    for k:\n"
                                             "      S1\n"
                                             "      S0\n");
}

} // namespace
} // namespace kawara::schedule
