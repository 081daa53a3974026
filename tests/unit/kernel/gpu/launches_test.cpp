#include "unit/kernel/gpu/gpu_line.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using gpu_line::compile;
using gpu_line::difference;
using gpu_line::expect_same;

const std::string kReverse = "param N\n"
                             "input A: f32[N]\n"
                             "output B: f32[N]\n"
                             "temp T: f32[N]\n"
                             "for i in range(N):\n"
                             "    T[i] = A[i] * 2\n"
                             "for i in range(N):\n"
                             "    B[i] = T[N - 1 - i]\n";

size_t count_barriers(const Kernel& kernel) {
  size_t count = 0;
  visit(kernel.body, [&](const Stmt& stmt) { count += std::get_if<Barrier>(&stmt) != nullptr; });
  return count;
}

TEST(Launches, ThreadsWaitForWhatOthersWrite) {
  const auto line = compile(kReverse, "bind(S0.i, thread.x); bind(S1.i, thread.x)", {{"N", 8}});
  EXPECT_EQ(count_barriers(line.kernel), 1U);
  const auto same = difference(line, {{"N", 8}}, 3);
  ASSERT_TRUE(same) << same.error();
  EXPECT_EQ(*same, 0);
}

/// 64 threads along x in one nest, 64 along y in the other: no block has 4096.
TEST(Launches, NestsWithTooManyThreadsAreLaunchedApart) {
  const std::string directives = "bind(S0.i, thread.x); bind(S1.i, thread.y)";
  const auto line = compile(kReverse, directives, {{"N", 64}});
  size_t launches = 0;
  visit(line.kernel.body, [&](const Stmt& stmt) {
    if (const auto* launch = std::get_if<Launch>(&stmt)) {
      ++launches;
      EXPECT_LE(launch->threads[0] * launch->threads[1] * launch->threads[2], 1024);
    }
  });
  EXPECT_EQ(launches, 2U) << print(line.kernel);
  expect_same(kReverse, directives, {{"N", 64}});
}

TEST(Launches, WithoutTheBarrierTheInterpreterFindsTheRace) {
  auto line = compile(kReverse, "bind(S0.i, thread.x); bind(S1.i, thread.x)", {{"N", 8}});
  line.kernel.body = rewrite(line.kernel.body, [](Stmt stmt) {
    return std::get_if<Barrier>(&stmt) != nullptr ? Block{} : block_of(std::move(stmt));
  });
  const auto found = difference(line, {{"N", 8}}, 3);
  ASSERT_FALSE(found);
  const bool is_known = found.error().find("race: threads") == 0 ||
                        found.error().find("is read before it is written") != std::string::npos;
  EXPECT_TRUE(is_known) << found.error();
}

TEST(Launches, ThreadsThatStayInTheirElementsDoNotWait) {
  const std::string text = "param N\n"
                           "input A: f32[N]\n"
                           "output B: f32[N]\n"
                           "temp T: f32[N]\n"
                           "for i in range(N):\n"
                           "    T[i] = A[i] * 2\n"
                           "for i in range(N):\n"
                           "    B[i] = T[i]\n";
  const auto line = compile(text, "bind(S0.i, thread.x); bind(S1.i, thread.x)", {{"N", 8}});
  EXPECT_EQ(count_barriers(line.kernel), 0U);
  EXPECT_TRUE(difference(line, {{"N", 8}}, 5));
}

TEST(Launches, TwoLoopsThatBecameOneMayBeThreads) {
  const std::string text = "param M, N, K\n"
                           "input A: f32[M, K], B: f32[K, N]\n"
                           "output C: f32[M, N]\n"
                           "C[i, j] = sum(k, A[i, k] * B[k, j])\n";
  const std::string lanes = "tile(S.i=4, S.j=8); split(S.i.1, 2)\n"
                            "reorder(S.i.1.0, S.j.1, S.i.1.1)\n"
                            "coalesce(S.j.1, S.i.1.1)\n"
                            "bind(S.i.1.0, thread.y); bind(S.j.1_i.1.1, thread.x)\n";
  std::string plan = "distribute(S0.j); distribute(S0.i)\n";
  for (const char* name : {"S0", "S1"}) {
    std::string own = lanes;
    for (size_t at = own.find("S."); at != std::string::npos; at = own.find("S.", at + 2))
      own.replace(at, 1, name);
    plan += own;
  }
  plan +=
      "bind(S0.i.0, block.y); bind(S0.j.0, block.x); bind(S1.i.0, block.y); bind(S1.j.0, block.x)";
  const gpu_line::Sizes sizes = {{"M", 8}, {"N", 16}, {"K", 5}};
  const auto line = compile(text, plan, sizes);
  const auto worst = difference(line, sizes, 3);
  ASSERT_TRUE(worst) << worst.error() << print(line.kernel);
  EXPECT_LE(*worst, 1e-6);
}

TEST(Launches, LoopsAroundBlocksStayWithTheHost) {
  const std::string text = "param T, N\n"
                           "inout A: f32[T + 1, N]\n"
                           "for t in range(T):\n"
                           "    for i in range(1, N - 1):\n"
                           "        A[t + 1, i] = (A[t, i - 1] + A[t, i] + A[t, i + 1]) / 3\n";
  expect_same(text, "auto", {{"T", 5}, {"N", 70}});
  expect_same(text, "auto", {{"T", 5}, {"N", 70}}, false);
}

TEST(Launches, ThreadsAddUpAReductionOfTheirLoop) {
  const std::string text = "param M, N\n"
                           "input X: f32[M, N]\n"
                           "output s: f32[M]\n"
                           "s[i] = sum(j, X[i, j])\n";
  expect_same(text, "distribute(i); bind(S1.i, block.x); bind(S1.j, thread.x)",
              {{"M", 3}, {"N", 100}});
  expect_same(text, "auto", {{"M", 9}, {"N", 64}});
  expect_same(text, "auto", {{"M", 3}, {"N", 1500}});
}

TEST(Launches, DefaultSchedulesMeanTheSame) {
  expect_same(gpu_line::kGelu, "auto", {{"M", 5}, {"N", 40}});
  expect_same(gpu_line::kGelu, "auto", {{"M", 3}, {"N", 1030}});
  expect_same(gpu_line::kTranspose, "auto", {{"M", 33}, {"N", 70}});
  expect_same(gpu_line::kSoftmax, "auto", {{"M", 3}, {"N", 96}});
  expect_same(gpu_line::kSoftmax, "auto", {{"M", 2}, {"N", 1100}});
  expect_same(gpu_line::kSoftmax, "auto", {{"M", 2}, {"N", 50}}, false);
}

TEST(Launches, ProductsMeanTheSame) {
  expect_same(gpu_line::kGemm, "auto", {{"M", 64}, {"N", 32}, {"K", 32}});
  expect_same(gpu_line::kGemm, "auto", {{"M", 37}, {"N", 45}, {"K", 20}});
  expect_same(gpu_line::kGemm, "auto", {{"M", 33}, {"N", 40}, {"K", 17}}, false);
  expect_same("param M, N, K\n"
              "input A: bf16[M, K], B: bf16[K, N]\n"
              "output C: f32[M, N]\n"
              "temp acc: f32[M, N]\n"
              "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\n"
              "C[i, j] = max(acc[i, j], 0)\n",
              "auto", {{"M", 32}, {"N", 64}, {"K", 32}});
}

TEST(Launches, AccumulatorsStayInVariablesOverBarriers) {
  const auto line = compile(gpu_line::kGemm, "auto", {{"M", 64}, {"N", 64}, {"K", 64}});
  size_t stores = 0;
  visit(line.kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || !has_barrier(loop->body))
      return;
    visit(loop->body, [&](const Stmt& inner) {
      const auto* store = std::get_if<Store>(&inner);
      stores += store != nullptr && line.kernel.buffers[store->buffer].name == "C";
    });
  });
  EXPECT_EQ(stores, 0U) << print(line.kernel);
}

TEST(Launches, AnythingLegalGetsSomethingLegal) {
  expect_same("param N\ninout A: f32[N]\n"
              "for i in range(1, N):\n    A[i] = A[i] + A[i - 1]\n",
              "auto", {{"N", 9}}, false);
  expect_same("param N\ninput A: f32[N, N]\noutput B: f32[N, N]\n"
              "for i in range(N):\n    for j in range(i + 1):\n        B[i, j] = A[i, j]\n"
              "    for j in range(i + 1, N):\n        B[i, j] = 0\n",
              "auto", {{"N", 37}}, false);
}

/// One block of four threads: T[thread_x] = 1, something between, A[thread_x] = T[3 - thread_x].
Kernel four_threads(const Block& between) {
  Kernel k;
  k.name = "k";
  k.buffers = {
      {"A", scalar::Elem::F32, {scalar::int_lit(4)}, Scope::Argument, program::Role::Output},
      {"T", scalar::Elem::F32, {scalar::int_lit(4)}, Scope::Shared}};
  Launch launch;
  launch.name = "k_0";
  launch.blocks.fill(scalar::int_lit(1));
  launch.threads = {4, 1, 1};
  for (size_t a = 0; a < 3; ++a) {
    launch.block_vars[a] = add_variable(k, "block", scalar::kIndex);
    launch.thread_vars[a] = add_variable(k, "thread", scalar::kIndex);
  }
  const Expr x = scalar::var(launch.thread_vars[0]);
  Block body =
      block_of(Store{1, {x}, ReduceOp::None, scalar::float_lit(1, {scalar::Elem::F32, 1})});
  body.insert(body.end(), between.begin(), between.end());
  const Expr other = scalar::load(1, {scalar::int_lit(3) - x}, {scalar::Elem::F32, 1});
  body.emplace_back(Store{0, {x}, ReduceOp::None, other});
  launch.body = block_of(Allocate{1, std::move(body)});
  k.body = block_of(std::move(launch));
  return k;
}

TEST(InterpretLaunch, FindsWhatThreadsMustNotDo) {
  std::vector<Elements> arguments(1);
  EXPECT_TRUE(interpret(four_threads(block_of(Barrier{})), {}, arguments));
  const auto raced = interpret(four_threads({}), {}, arguments);
  ASSERT_FALSE(raced);
  EXPECT_EQ(raced.error(), "T[3] is read before it is written");

  const Expr first = scalar::binary(scalar::BinaryOp::Eq, scalar::var(1), scalar::int_lit(0));
  const auto divergent =
      interpret(four_threads(block_of(If{first, block_of(Barrier{}), {}})), {}, arguments);
  ASSERT_FALSE(divergent);
  EXPECT_EQ(divergent.error().find("threads of k_0 disagree on"), 0U) << divergent.error();
}

/// Shared memory that a loop allocates is the same in every iteration: the next one may not write
/// it while others still read.
TEST(InterpretLaunch, FindsSharedMemoryThatIsOverwrittenTooEarly) {
  Kernel k = four_threads(block_of(Barrier{}));
  auto& launch = std::get<Launch>(k.body[0]);
  For loop;
  loop.var = add_variable(k, "i", scalar::kIndex);
  loop.lo = scalar::int_lit(0);
  loop.hi = scalar::int_lit(2);
  loop.body = launch.body;
  launch.body = block_of(loop);
  std::vector<Elements> arguments(1);
  const auto found = interpret(k, {}, arguments);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().find("both touch T["), std::string::npos) << found.error();
  loop.body.emplace_back(Barrier{});
  launch.body = block_of(loop);
  EXPECT_TRUE(interpret(k, {}, arguments));
}

TEST(InterpretLaunch, FindsElementsThatTwoThreadsTouch) {
  Kernel k = four_threads(block_of(Barrier{}));
  std::get<Launch>(k.body[0]).thread_private = {1};
  std::vector<Elements> arguments(1);
  const auto found = interpret(k, {}, arguments);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), "T[3] belongs to thread 3 of k_0, but thread 0 touches it");
}

TEST(InterpretLaunch, FindsBlocksThatWriteOneElement) {
  Kernel k = four_threads(block_of(Barrier{}));
  std::get<Launch>(k.body[0]).blocks[0] = scalar::int_lit(2);
  std::vector<Elements> arguments(1);
  const auto found = interpret(k, {}, arguments);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), "race: blocks 0 and 1 of k_0 both touch A[0]");
}

} // namespace
} // namespace kawara::kernel
