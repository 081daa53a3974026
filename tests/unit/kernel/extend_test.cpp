#include "unit/kernel/line.h"

#include "kernel/walk.h"

#include <algorithm>

// Products of any size without code for edges: zeros behind the operands, loops in whole blocks. In
// the kernel interpreter, after every pass.

namespace kawara {
namespace {

std::string odd_product(const std::string& operand, const std::string& result) {
  return "numerics fast\nparam M, N, K\ninput A: " + operand + "[M, K], B: " + operand +
         "[K, N]\ninout C: " + result +
         "[M, N]\nfor i in range(M):\n    for j in range(N):\n        for k in range(K):\n"
         "            C[i, j] += A[i, k] * B[k, j]\n";
}

/// Columns in eights, the reduction in groups of `depth`, both whole.
std::string padded_blocks(const std::string& depth, const std::string& then) {
  return "split(j, 8); split(k, " + depth +
         "); reorder(j.0, i, k.0, j.1, k.1); pack(B, j.0); pad(B_packed, d1, to=8); "
         "pad(B_packed, d2, to=" +
         depth + "); stage(A, i, d1=" + depth +
         "); promote(C, S0.k.0); pad(C_held, d1, to=8); extend(S0.k.1, " + depth +
         "); extend(S0.j.1, 8); " + then;
}

std::vector<std::vector<int64_t>> odd_sizes() {
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t n = 1; n <= 17; ++n)
    sizes.push_back({1 + n % 3, n, 18 - n});
  return sizes;
}

TEST(Extend, sums_of_f32_in_whole_vectors) {
  line::expect_same(odd_product("f32", "f32"),
                    "split(j, 8); reorder(j.0, i, k, j.1); stage(B, j.0, d1=8); promote(C, k); "
                    "pad(C_held, d1, to=8); extend(j.1, 8); vectorize(j.1, 4)",
                    odd_sizes());
}

TEST(Extend, dot_products_of_bytes) {
  line::expect_same(odd_product("i8", "i32"), padded_blocks("4", "tensorize(S0.j.1, neon.sdot)"),
                    odd_sizes());
}

TEST(Extend, dot_products_of_bf16) {
  line::expect_same(odd_product("bf16", "f32"), padded_blocks("2", "tensorize(S0.j.1, neon.bfdot)"),
                    odd_sizes());
}

TEST(Extend, what_the_last_tile_left_is_not_added) {
  // Columns of B beyond the tile hold what the last tile left there, unless zeros are written in
  // each.
  line::expect_same(
      odd_product("f32", "f32"),
      "split(j, 4); split(k, 4); reorder(k.0, j.0, i, k.1, j.1); stage(A, k.0, d1=4); "
      "stage(B, k.0, d0=4); extend(k.1, 4); unroll(k.1)",
      odd_sizes());
}

/// Lanes of the products of f32 in a kernel, one entry for each place in its text.
std::vector<int> lanes_of_products(const kernel::Kernel& kernel) {
  std::vector<int> lanes;
  kernel::visit_exprs(kernel.body, [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      const auto* n = scalar::as<scalar::Binary>(e);
      if (n != nullptr && n->op == scalar::BinaryOp::Mul && e.type().elem == scalar::Elem::F32)
        lanes.push_back(e.type().lanes);
    });
  });
  return lanes;
}

TEST(Extend, odd_sizes_have_no_code_for_edges) {
  const std::string text =
      "input A: f32[3, 10], B: f32[10, 7]\ninout C: f32[3, 7]\n"
      "for i in range(3):\n    for j in range(7):\n        for k in range(10):\n"
      "            C[i, j] += A[i, k] * B[k, j]\n";
  const std::string tiles = "split(j, 4); split(k, 4); reorder(j.0, i, k.0, k.1, j.1); ";
  const std::string straight = "unroll(k.1); vectorize(j.1, 4)";
  const auto with =
      line::compile(text, tiles +
                              "stage(A, i, d1=4); stage(B, i, d0=4, d1=4); promote(C, k.0); "
                              "pad(C_held, d1, to=4); extend(k.1, 4); extend(j.1, 4); " +
                              straight);
  const auto without = line::compile(text, tiles + straight);
  const kernel::Kernel whole = kernel::optimise(with.kernel, line::test_cpu());
  EXPECT_EQ(lanes_of_products(whole), std::vector<int>(4, 4)) << kernel::print(whole);
  const kernel::Kernel cut_off = kernel::optimise(without.kernel, line::test_cpu());
  const std::vector<int> lanes = lanes_of_products(cut_off);
  EXPECT_GT(lanes.size(), 4U);
  EXPECT_TRUE(std::any_of(lanes.begin(), lanes.end(), [](int n) { return n < 4; }))
      << kernel::print(cut_off);
}

} // namespace
} // namespace kawara
