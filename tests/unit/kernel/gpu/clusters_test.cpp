#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::Line;
using gpu_line::Sizes;

const std::string kPairedTiles =
    "distribute(S0.j); distribute(S0.i)\n"
    "[tile(S1.i=64, S1.j=64, S1.k=64); tile(S0.i=64, S0.j=64); tile(S2.i=64, S2.j=64)\n"
    "fuse(S0.i.0, S1.i.0); fuse(S0.j.0, S1.j.0); fuse(S1.i.0, S2.i.0); fuse(S1.j.0, S2.j.0)\n"
    "bind(S0.i.0, block.y); bind(S0.j.0, block.x)]\n"
    "tensorize(S1.i.1, wgmma.m64n64k16.bf16); pipeline(S1.k.0, 2); store_at(acc, S1.j.0)";

std::string paired_product(const std::string& a, const std::string& b) {
  return "param M, N, K\ninput A: bf16[" + a + "], B: bf16[" + b +
         "]\noutput C: bf16[M, N]\ntemp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[" +
         (a == "M, K" ? "i, k" : "k, i") + "]) * f32(B[" + (b == "K, N" ? "k, j" : "j, k") +
         "]))\nC[i, j] = acc[i, j]\n";
}

/// Two multiprocessors: one pair of tiles at a time.
Line paired(const std::string& a, const std::string& b, const Sizes& sizes) {
  return compile(paired_product(a, b), kPairedTiles, sizes, true, 2);
}

/// Rows of operands begin within a cache line. Tiles 2 x 4, 1 x 6 and 3 x 3, the last ones with an
/// edge; of the last, blocks have a tile twice.
const Sizes kTwoRows = {{"M", 120}, {"N", 248}, {"K", 200}},
            kTwoColumns = {{"M", 56}, {"N", 376}, {"K", 264}},
            kThreeByThree = {{"M", 136}, {"N", 136}, {"K", 200}};

TEST(Clusters, two_blocks_bring_half_of_what_both_read) {
  struct Case {
    std::string a, b;
    Sizes sizes;
  };
  for (const auto& [a, b, sizes] :
       {Case{"M, K", "N, K", kTwoRows}, Case{"K, M", "K, N", kTwoRows},
        Case{"M, K", "N, K", kTwoColumns}, Case{"K, M", "K, N", kTwoColumns},
        Case{"M, K", "N, K", kThreeByThree}}) {
    SCOPED_TRACE(a + " and " + b);
    const Line line = paired(a, b, sizes);
    EXPECT_EQ(line.broken, std::vector<std::string>{});
    const std::string text = print(line.kernel);
    EXPECT_NE(text.find("cluster(2)"), std::string::npos) << text;
    EXPECT_NE(text.find("of each block"), std::string::npos) << text;
    const auto worst = gpu_line::difference(line, sizes, 1);
    ASSERT_TRUE(worst) << worst.error() << "\n" << text;
    EXPECT_LE(*worst, 1e-2) << text;
  }
}

TEST(Clusters, blocks_work_alone_where_a_cluster_gains_nothing) {
  const auto has_cluster = [](const Sizes& sizes) {
    return print(paired("M, K", "N, K", sizes).kernel).find("cluster(2)") != std::string::npos;
  };
  EXPECT_TRUE(has_cluster(kTwoRows));
  EXPECT_FALSE(has_cluster({{"M", 120}, {"N", 248}, {"K", 256}})); // whole cache lines
  EXPECT_FALSE(has_cluster({{"M", 120}, {"N", 56}, {"K", 136}}));  // few steps
}

/// What the interpreter says of the kernel after a change of its asynchronous operations.
template <class F> std::string verdict_on(F change) {
  const Sizes sizes = {{"M", 128}, {"N", 192}, {"K", 264}};
  Line line = paired("M, K", "N, K", sizes);
  line.kernel.body = rewrite(line.kernel.body, [&](Stmt stmt) {
    auto* async_op = std::get_if<AsyncOp>(&stmt);
    return async_op != nullptr && !change(*async_op) ? Block{} : block_of(std::move(stmt));
  });
  for (const uint64_t seed : {3, 4, 5, 6})
    if (const auto worst = gpu_line::difference(line, sizes, seed); !worst)
      return worst.error();
  return "";
}

TEST(Clusters, what_blocks_owe_each_other_is_checked) {
  EXPECT_EQ(verdict_on([](AsyncOp&) { return true; }), "");
  // A producer that does not wait overwrites what the other block still reads.
  EXPECT_NE(verdict_on([](AsyncOp& s) {
              const auto* wait = std::get_if<AwaitPhase>(&s.what);
              return wait == nullptr || wait->at.row != 1;
            }),
            "");
  // Arrivals that stay in the own block come twice there, and never at the other.
  EXPECT_NE(verdict_on([](AsyncOp& s) {
              if (auto* arrive = std::get_if<Arrive>(&s.what))
                arrive->block.reset();
              return true;
            }),
            "");
  EXPECT_NE(verdict_on([](AsyncOp& s) {
              if (auto* arrive = std::get_if<Arrive>(&s.what); arrive != nullptr && arrive->block)
                arrive->block = *arrive->block + scalar::int_lit(1);
              return true;
            }).find("has no block 2"),
            std::string::npos);
  // Half of the box never comes to the other block.
  EXPECT_NE(verdict_on([](AsyncOp& s) {
              if (auto* load = std::get_if<BulkLoad>(&s.what))
                load->is_multicast = false;
              return true;
            }).find("wait for each other without end"),
            std::string::npos);
}

TEST(Clusters, operations_between_blocks_need_a_cluster) {
  Line line = paired("M, K", "N, K", kTwoRows);
  line.kernel.body = rewrite(line.kernel.body, [](Stmt stmt) {
    if (auto* launch = std::get_if<Launch>(&stmt))
      launch->cluster = 1;
    return block_of(std::move(stmt));
  });
  EXPECT_NE(spec(line.kernel), std::vector<std::string>{});
  line.kernel.body = rewrite(line.kernel.body, [](Stmt stmt) {
    if (auto* launch = std::get_if<Launch>(&stmt))
      launch->cluster = 3;
    return block_of(std::move(stmt));
  });
  ASSERT_FALSE(spec(line.kernel).empty());
  EXPECT_NE(spec(line.kernel).front().find("do not make whole clusters of 3"), std::string::npos);
}

} // namespace
} // namespace kawara::kernel
