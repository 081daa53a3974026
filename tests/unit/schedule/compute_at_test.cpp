#include "unit/schedule/programs.h"

namespace kawara::schedule {
namespace {

constexpr const char* kBlur = R"(param N
input A: f32[N + 2, N + 2]
temp T: f32[N + 2, N]
output B: f32[N, N]
for i in range(N + 2):
    for j in range(N):
        T[i, j] = A[i, j] + A[i, j + 1] + A[i, j + 2]
for i in range(N):
    for j in range(N):
        B[i, j] = T[i, j] + T[i + 1, j] + T[i + 2, j]
)";

TEST(ComputeAt, moves_the_producer_into_the_consumer) {
  EXPECT_EQ(outcome(kBlur, "compute_at(S0, S1.i)"), "\n"
                                                    "for i:\n"
                                                    "  for i.p:\n"
                                                    "    for j:\n"
                                                    "      S0\n"
                                                    "  for j:\n"
                                                    "    S1\n");
}

TEST(ComputeAt, computes_exactly_what_an_iteration_reads) {
  const auto made = apply(initial(kBlur), directives("compute_at(S0, S1.i)"), test_environment());
  ASSERT_TRUE(made);
  const isl::set expected(made->scop.context_owner->get(),
                          "[N] -> { S0[o, i, j] : 0 <= o < N and o <= i <= o + 2 and 0 <= j < N }");
  EXPECT_TRUE(made->scop.statements[0].domain.is_equal(expected));
  const program::Tensor& t = made->scop.tensors[1];
  EXPECT_EQ(t.private_dims, 1U);
  EXPECT_EQ(t.shape.size(), 3U);
}

TEST(ComputeAt, leaves_out_loops_that_run_once) {
  EXPECT_EQ(outcome(kAhead, "shift(S1.i, 1); compute_at(S0, S1.i)"), "\nfor i:\n  S0\n  S1\n");
}

TEST(ComputeAt, refuses_an_output) {
  EXPECT_EQ(outcome(kBlur, "compute_at(S1, S0.i)"), "K0222: cannot compute `S1` at loop `S0.i`");
}

TEST(ComputeAt, names_the_reader_that_stays_outside) {
  const std::string text = message("param N\ninput x: f32[N]\ntemp y: f32[N]\noutput z: f32[N], w: "
                                   "f32[N]\nfor i in range(N):\n    y[i] = x[i]\n"
                                   "for i in range(N):\n    z[i] = y[i]\n"
                                   "for i in range(N):\n    w[i] = y[i]\n",
                                   "compute_at(S0, S1.i)");
  EXPECT_NE(text.find("S2 reads `y` too"), std::string::npos) << text;
}

} // namespace
} // namespace kawara::schedule
