#include "unit/kernel/line.h"

#include "kernel/loops/split_triangular.h"
#include "kernel/walk.h"

#include <fmt/core.h>

namespace kawara {
namespace {

/// Row i has the columns up to i, or those that `columns` says.
std::string triangle(const std::string& columns = "i + 1") {
  return "param N\ninput A: f32[N, 12], B: f32[12, N]\ninout C: f32[N, N]\n\n"
         "for i in range(N):\n    for j in range(" +
         columns + "):\n        for k in range(12):\n            C[i, j] += A[i, k] * B[k, j]\n";
}

std::string tiles(int64_t rows, int64_t columns, const std::string& lanes = "") {
  return fmt::format(
      "tile(i={}, j={}); reorder(i.0, j.0, k, i.1, j.1); unroll(i.1); vectorize(j.1, 4){}", rows,
      columns, lanes);
}

std::string split_at_diagonals(const std::string& text, const std::string& directives) {
  return kernel::print(kernel::split_triangular(line::compile(text, directives).kernel));
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Diagonals, TilesThatMeetNoneAreWhole) {
  const std::string before = kernel::print(line::compile(triangle(), tiles(4, 8)).kernel);
  EXPECT_EQ(count(before, "for j_0"), 1) << before;
  const std::string after = split_at_diagonals(triangle(), tiles(4, 8));
  EXPECT_EQ(count(after, "for j_0"), 2) << after;
  const size_t whole = after.find("for j_0"), others = after.find("for j_0", whole + 1);
  EXPECT_NE(after.substr(whole, others - whole).find("for j_1 in range(0, 8):"), std::string::npos)
      << after;
  EXPECT_EQ(after.substr(others).find("for j_1 in range(0, 8):"), std::string::npos) << after;
}

TEST(Diagonals, ComputeTheSame) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{4, 8}, {3, 16}, {16, 5}})
    for (const char* end : {"i + 1", "i", "i + 7", "N - i", "max(0, 2 * i - 9)"})
      line::expect_same(triangle(fmt::format("min(N, {})", end)), tiles(rows, columns),
                        {{5}, {37}});
}

TEST(Diagonals, EdgesAreNone) {
  const std::string text = triangle("N");
  EXPECT_EQ(split_at_diagonals(text, tiles(4, 8)),
            kernel::print(line::compile(text, tiles(4, 8)).kernel));
}

TEST(Diagonals, LoopsThatThreadsShareStay) {
  const std::string shared = split_at_diagonals(triangle(), tiles(4, 8, "; parallel(j.0)"));
  EXPECT_EQ(count(shared, "for j_0"), 1) << shared;
}

TEST(Diagonals, PlainLoopsStay) {
  const std::string plain = "tile(i=4, j=8)";
  EXPECT_EQ(split_at_diagonals(triangle(), plain),
            kernel::print(line::compile(triangle(), plain).kernel));
}

TEST(Diagonals, AttentionToWhatCameBefore) {
  const std::string text = R"(param N
input Q: f32[2, N, 8], K: f32[2, N, 8], V: f32[2, N, 8]
output out: f32[2, N, 8]
temp s: f32[2, N, N], w: f32[2, N, N], best: f32[2, N], total: f32[2, N]
for h in range(2):
    for i in range(N):
        best[h, i] = -inf
        total[h, i] = 0
        for j in range(i + 1):
            s[h, i, j] = 0
            for d in range(8):
                s[h, i, j] += Q[h, i, d] * K[h, j, d]
            best[h, i] max= s[h, i, j]
        for j in range(i + 1):
            w[h, i, j] = exp(s[h, i, j] - best[h, i])
            total[h, i] += w[h, i, j]
        for d in range(8):
            out[h, i, d] = 0
            for j in range(i + 1):
                out[h, i, d] += w[h, i, j] / total[h, i] * V[h, j, d]
)";
  const std::string apart = split_at_diagonals(text, "auto");
  EXPECT_NE(apart.find("best_factor"), std::string::npos) << "in one pass\n" << apart;
  line::expect_same(text, "auto", {{33}, {70}});
}

// Each side of a band is a diagonal, in each loop over tiles: copies of copies would be nine times
// the kernel.
TEST(Diagonals, KernelsAreAtMostTwiceAsLong) {
  const char* band = R"(param N
numerics fast
output A: i32[N + 9, N + 7]
input B: i32[N + 5], C: i32[N + 1]
for i in range(N):
    for j in range(max(0, i - 4), min(N, i + 4)):
        for k in range(1, min(N, 2 * i + 3)):
            A[j, i] = C[k + 1] - B[i]
)";
  const auto statements = [](const kernel::Kernel& kernel) {
    size_t found = 0;
    kernel::visit(kernel.body, [&](const kernel::Stmt&) { ++found; });
    return found;
  };
  const kernel::Kernel loops = line::compile(band, "auto").kernel;
  const kernel::Kernel made = kernel::split_triangular(loops);
  EXPECT_GT(statements(made), statements(loops)) << kernel::print(made);
  EXPECT_LE(statements(made), 2 * statements(loops)) << kernel::print(made);
  line::expect_same(band, "auto", {{0}, {1}, {4}, {9}, {24}});
}

} // namespace
} // namespace kawara
