#include "unit/kernel/line.h"

#include "kernel/loops/separate_tiles.h"

// Nests that start, sum up and use one tile ask once whether it is whole.

namespace kawara {
namespace {

const std::string kProduct = "input X: f32[4, 41]\nconst W: f32[8, 4]\noutput Y: f32[8, 41]\n"
                             "temp T: f32[8, 41]\n\n"
                             "T[m, o] = sum(c, X[c, o] * W[m, c])\nY[m, o] = T[m, o] + 1.0\n";

/// Two blocks of columns, of which the last tile is a part.
std::string tiles_in_blocks() {
  std::string plan = "distribute(S0.m)";
  for (const std::string s : {"S0", "S1", "S2"})
    plan += "; split(" + s + ".o, 24); split(" + s + ".o.1, 8); split(" + s + ".m, 4); reorder(" +
            s + ".o.0, " + s + ".m.0, " + s + ".o.1.0, " + (s == "S1" ? "S1.c, " : "") + s +
            ".m.1, " + s + ".o.1.1)";
  for (const std::string loop : {"o.0", "m.0", "o.1.0"})
    plan += "; fuse(S0." + loop + ", S1." + loop + ")";
  for (const std::string loop : {"o.0", "m.0", "o.1.0"})
    plan += "; fuse(S1." + loop + ", S2." + loop + ")";
  for (const std::string s : {"S0", "S1", "S2"})
    plan += "; unroll(" + s + ".m.1); vectorize(" + s + ".o.1.1, 4); unroll(" + s + ".o.1.1)";
  return plan + "; parallel(S1.o.0); store_at(T, S1.o.1.0)";
}

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++count;
  return count;
}

TEST(ShareTests, OneForATileWhoseStorageIsPrivateToEachSide) {
  const line::Line made = line::compile(kProduct, tiles_in_blocks());
  const std::string before = kernel::print(made.kernel);
  EXPECT_EQ(count_of(before, "private T:"), 1U) << before;
  const std::string apart = kernel::print(kernel::separate_tiles(made.kernel));
  EXPECT_EQ(count_of(apart, "if "), 1U) << apart;
  EXPECT_EQ(count_of(apart, "private T:"), 2U) << apart;
  EXPECT_LT(apart.find("if "), apart.find("private T:")) << apart;
}

TEST(ShareTests, ComputeTheSame) {
  line::expect_same(kProduct, tiles_in_blocks(), {{}});
  line::expect_same(kProduct, "auto", {{}});
}

} // namespace
} // namespace kawara
