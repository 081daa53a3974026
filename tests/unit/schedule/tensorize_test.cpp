#include "unit/schedule/programs.h"

#include <algorithm>

// What may run as an instruction, proved by relations; what may not, and the words for it.

namespace kawara::schedule {
namespace {

constexpr const char* kSmall = R"(input A: i8[8, 64], B: i8[64, 32]
output C: i32[8, 32]
for i in range(8):
    for j in range(32):
        for k in range(64):
            C[i, j] += A[i, k] * B[k, j]
)";

/// Whether the directives are legal; else the code and the first paragraph of the message.
std::string verdict(const std::string& program, const std::string& text) {
  const Schedule start = initial(program);
  const auto result = apply(start, directives(text), test_environment());
  if (result)
    return "legal";
  const Diagnostic d = explain(start, result.error(), test_environment());
  std::string said = d.code + (d.body.empty() ? "" : " " + d.body.front());
  std::replace(said.begin(), said.end(), '\n', ' ');
  return said;
}

const std::string kTiles = "split(j, 8); split(k, 4); reorder(j.0, k.0, i, j.1, k.1); ";

TEST(Tensorize, text_is_kept) {
  for (const std::string text : {"tensorize(j.1, neon.sdot)", "pack(B, j.0, type=i16)",
                                 "pack(B, type=f32)", "rfactor(k.0, type=f16)"})
    EXPECT_EQ(print(directives(text)), text);
}

TEST(Tensorize, takes_elements_as_they_lie) {
  const std::string tensorized = kTiles + "pack(B, j.0); tensorize(S0.j.1, neon.sdot)";
  EXPECT_EQ(verdict(kSmall, tensorized + "; layout(A, d1, d0)").rfind("K0257", 0), 0u)
      << verdict(kSmall, tensorized + "; layout(A, d1, d0)");
}

TEST(Tensorize, packed_groups_are_a_dot_product) {
  EXPECT_EQ(verdict(kSmall, kTiles + "pack(B, j.0); tensorize(S0.j.1, neon.sdot)"), "legal");
  const Schedule start = initial(kSmall);
  const auto made = apply(start, directives(kTiles + "pack(B, j.0); tensorize(S0.j.1, neon.sdot)"),
                          test_environment());
  ASSERT_TRUE(made);
  const auto path = poly::path_of(made->order, poly::StmtId{0});
  EXPECT_EQ(made->order[path[3]].marks.instruction, "neon.sdot");
  EXPECT_EQ(made->order[path[3]].marks.instruction_axis, 0U);
  EXPECT_EQ(made->order[path[4]].marks.instruction_axis, 1U);
}

TEST(Tensorize, neither_names_nor_the_order_of_loops_and_factors_matter) {
  const char* transposed = R"(input weights: i8[32, 64], x: i8[8, 64]
output out: i32[8, 32]
for r in range(8):
    for d in range(64):
        for c in range(32):
            out[r, c] += weights[c, d] * x[r, d]
)";
  EXPECT_EQ(verdict(transposed, "split(c, 4); split(d, 4); reorder(c.0, d.0, r, c.1, d.1); "
                                "pack(weights, c.0); tensorize(S0.c.1, neon.sdot)"),
            "legal");
  EXPECT_EQ(verdict(transposed, "split(c, 4); split(d, 4); reorder(c.0, d.0, r, c.1, d.1); "
                                "pack(weights, c.0); interchange(S0.c.1, S0.d.1); "
                                "tensorize(S0.d.1, neon.sdot)"),
            "legal");
}

TEST(Tensorize, elements_that_lie_elsewhere_are_refused) {
  EXPECT_EQ(
      verdict(kSmall, kTiles + "tensorize(j.1, neon.sdot)"),
      "K0242 Operand `b` of `neon.sdot` has neighbouring elements 1 apart along `k.1`, but `B[k, "
      "j]` moves by 32 elements; pack the tensor first, with that loop innermost.");
}

/// Tiles of `rows` elements of an image, the weights packed.
std::string tiles_of_rows(int64_t rows) {
  return "split(S0.w, " + std::to_string(rows) +
         "); split(S0.c, 64); split(S0.c.1, 4); "
         "reorder(S0.w.0, S0.c.0, S0.r, S0.w.1, S0.c.1.0, S0.k, S0.c.1.1); pack(W); "
         "tensorize(S0.w.1, amx.tdpbssd)";
}

TEST(Tensorize, rows_of_tiles_may_be_few_and_apart) {
  const auto image = [](const std::string& width, const std::string& step) {
    return "input X: i8[66, 128]\nconst W: i8[16, 128, 3]\noutput Y: i32[" + width +
           ", 16]\nfor w in range(" + width +
           "):\n    for k in range(16):\n        for c in range(128):\n"
           "            for r in range(3):\n                Y[w, k] += X[" +
           step + "w + r, c] * W[k, c, r]\n";
  };
  EXPECT_EQ(verdict(image("28", ""), tiles_of_rows(14)), "legal");
  EXPECT_EQ(verdict(image("28", "2*"), tiles_of_rows(14)), "legal");
  EXPECT_EQ(verdict(image("32", ""), tiles_of_rows(16)), "legal");
  EXPECT_EQ(verdict(image("64", ""), tiles_of_rows(32)), "legal");
  EXPECT_EQ(verdict(image("40", ""), tiles_of_rows(20)).substr(0, 5), "K0242");
  // Elements of a row of a tile have to be neighbours.
  const std::string transposed = "input X: i8[128, 66]\nconst W: i8[16, 128, 3]\noutput Y: i32[28, "
                                 "16]\nfor w in range(28):\n    for k in range(16):\n"
                                 "        for c in range(128):\n            for r in range(3):\n"
                                 "                Y[w, k] += X[c, w + r] * W[k, c, r]\n";
  EXPECT_EQ(verdict(transposed, tiles_of_rows(14)).substr(0, 5), "K0242");
}

TEST(Tensorize, results_may_lie_apart) {
  // The lanes are rows of the result.
  const std::string text =
      "split(i, 4); split(k, 4); reorder(i.0, k.0, j, i.1, k.1); pack(A, i.0); ";
  EXPECT_EQ(verdict(kSmall, text + "pack(B); tensorize(S0.i.1, neon.sdot)"), "legal");
}

TEST(Tensorize, operands_that_move_along_other_axes_are_refused) {
  const char* diagonal = R"(input a: i8[64, 64], b: i8[64, 64]
inout c: i32[64]
for j in range(64):
    for k in range(64):
        c[j] += a[j, k] * b[j, k]
)";
  EXPECT_EQ(verdict(diagonal,
                    "split(j, 4); split(k, 4); reorder(j.0, k.0, j.1, k.1); pack(b, j.0); "
                    "tensorize(S0.j.1, neon.sdot)")
                .substr(0, 60),
            "K0242 Operand `a` of `neon.sdot` stays in place along `S0.j.");
}

TEST(Tensorize, other_types_and_lengths_are_refused) {
  EXPECT_EQ(verdict(kGemm, "split(k, 4); tensorize(k.1, neon.sdot)"),
            "K0242 S1 adds `A[i, k] * B[k, j]` to elements of f32; `neon.sdot` adds `i32(a[k]) * "
            "i32(b[j, k])`, with `a` of i8, `b` of i8, `c` of i32.");
  EXPECT_EQ(verdict(kSmall, "split(k, 6); reorder(k.0, i, j, k.1); tensorize(j, neon.sdot)"),
            "K0242 Axis `k` of `neon.sdot` has 4 iterations; loop `k.1` has 6. Split it by a "
            "multiple first.");
}

TEST(Tensorize, rounding_is_a_matter_of_the_contract) {
  const std::string text = R"(input A: bf16[8, 64], B: bf16[64, 32]
output C: f32[8, 32]
for i in range(8):
    for j in range(32):
        for k in range(64):
            C[i, j] += A[i, k] * B[k, j]
)";
  const std::string pairs = "split(j, 8); split(k, 2); reorder(j.0, k.0, i, j.1, k.1); "
                            "pack(B, j.0); tensorize(S0.j.1, neon.bfdot)";
  EXPECT_EQ(verdict(text, pairs).substr(0, 5), "K0227");
  EXPECT_EQ(verdict("numerics fast\n" + text, pairs), "legal");
}

TEST(Tensorize, marked_loops_keep_their_values) {
  const std::string done = kTiles + "pack(B, j.0); tensorize(S0.j.1, neon.sdot); ";
  EXPECT_EQ(verdict(kSmall, done + "split(S0.j.1, 2)").substr(0, 5), "K0217");
}

TEST(Tensorize, buffers_hold_what_the_tensor_holds) {
  EXPECT_EQ(verdict(kSmall, kTiles + "pack(B, j.0, type=i16)"), "legal");
  EXPECT_EQ(verdict(kSmall, kTiles + "pack(B, j.0, type=u8)").substr(0, 5), "K0235");
  EXPECT_EQ(verdict(kSmall, kTiles + "pack(B, j.0, type=f32)").substr(0, 5), "K0235");
}

TEST(Tensorize, partial_results_of_a_narrower_type_need_fast) {
  const std::string text = "split(k, 8); rfactor(k.0, type=f16)";
  EXPECT_EQ(verdict(kGemm, text).substr(0, 5), "K0227");
  EXPECT_EQ(verdict("numerics fast\n" + std::string(kGemm), text), "legal");
  EXPECT_EQ(verdict(kGemm, "split(k, 8); rfactor(k.0, type=f64)"), "legal");
}

} // namespace
} // namespace kawara::schedule
