#include "unit/kernel/line.h"

#include "kernel/gpu/guarded_unroll.h"
#include "kernel/gpu/thread_private.h"
#include "kernel/gpu/uniform_tiles.h"
#include "kernel/loops/peel_last_tiles.h"
#include "kernel/loops/separate_tiles.h"
#include "kernel/loops/split_triangular.h"
#include "kernel/walk.h"

#include <fmt/core.h>

// Loops of one kernel may share a variable and have other bounds: what a pass knows of a variable
// holds for one of them.

namespace kawara {
namespace {

using kernel::block_of;
using kernel::For;
using kernel::Store;
using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;
using scalar::int_lit;
using scalar::var;

std::string upper_product(int64_t rows, int64_t terms, const char* numerics = "exact") {
  return fmt::format("numerics {2}\ninput A: f32[{0}, {1}], B: f32[{1}, 8]\n"
                     "output C: f32[{0}, 8]\nfor i in range({0}):\n    for j in range(8):\n"
                     "        C[i, j] = 0\n        for k in range(i, {1}):\n"
                     "            C[i, j] += A[i, k] * B[k, j]\n",
                     rows, terms, numerics);
}

/// The last tile has fewer rows than the others, and its rows begin their sums elsewhere.
TEST(Triangles, UpperProductsOfAllSmallSizes) {
  for (int64_t rows = 1; rows <= 9; ++rows)
    for (int64_t terms = rows; terms <= 9; ++terms)
      line::expect_same(upper_product(rows, terms), "auto", {{}});
}

TEST(Triangles, UpperSumsInTilesOfThree) {
  const std::string text = "numerics exact\ninput A: f32[5, 5]\noutput C: f32[5]\n"
                           "for i in range(5):\n    C[i] = 0\n"
                           "    for k in range(i, 5):\n        C[i] += A[i, k]\n";
  line::expect_same(text,
                    "split(i, 3); distribute(i.1); reorder(S1.k, S1.i.1); unroll(S1.k); "
                    "unroll(S1.i.1); unroll(S0.i.1)",
                    {{}});
}

/// The reduction, of a few terms, begins and ends where the tile's rows say: it has the edge, not
/// the tile.
TEST(Triangles, UpdatesWhoseTilesAreCutByTheSum) {
  line::expect_same("input v: i8[16]\ninout X: i8[26, 15]\nfor i in range(1, 5):\n"
                    "    for k in range(i + 1):\n        X[i + 1, j] += v[j + 1]\n",
                    "auto", {{}});
}

/// Tiles cut this band into many nests. Their rows are loops of unknown length, and copies of such
/// loops save nothing: there were 4,016 stores.
TEST(Triangles, KernelsOfManyNestsStayShort) {
  const auto made = line::compile(R"(param N, M
numerics fast
inout A: bf16[N + M + 2, N + 2]
input B: bf16[N, N + 3], C: bf16[N, N + 2], D: bf16[N + 2]
for i in range(0, N + 2):
    for j in range(0, i + 1):
        A[j, i] = 0
        for k in range(max(0, 2 * j - 2), min(N, 2 * j + 1)):
            A[j, i] += B[k, i] * C[k, j]
for i in range(0, N + 1):
    for j in range(i // 2, M):
        A[j, i] max= max(D[1], D[i])
)",
                                  "auto");
  const kernel::Kernel kernel = kernel::optimise(made.kernel, line::test_cpu());
  size_t stores = 0;
  kernel::visit(kernel.body, [&](const kernel::Stmt& stmt) {
    stores += std::holds_alternative<Store>(stmt) ? 1 : 0;
  });
  EXPECT_LE(stores, 2000U);
}

/// isl does not see that i and j // 3 leave one j, and names it by a loop of its own.
TEST(Triangles, StepsInABandGiveOneIteration) {
  line::expect_same(R"(param N
numerics exact
output A: bf16[N + 2, N]
input B: bf16[N + 3, N + 2], C: bf16[N, N]
for i in range(2, N + 2):
    for j in range(max(0, i - 1), min(N, i + 3), 3):
        for k in range(0, min(N, i + 4)):
            A[i, j] max= B[i, k + 2] * C[j, k]
)",
                    "auto", {{2}, {7}, {11}, {12}, {19}});
}

/// A kernel with one argument X[64] and the loops i, j and k.
struct Loops {
  kernel::Kernel kernel;
  uint32_t i, j, k;

  Loops() {
    kernel.name = "loops";
    kernel.buffers.push_back(
        {"X", scalar::Elem::F32, {int_lit(64)}, kernel::Scope::Argument, program::Role::Inout});
    i = add_variable(kernel, "i", scalar::kIndex);
    j = add_variable(kernel, "j", scalar::kIndex);
    k = add_variable(kernel, "k", scalar::kIndex);
  }

  static For loop(uint32_t var, Expr lo, Expr hi, kernel::Block body, int64_t unroll = 0) {
    For result;
    result.var = var;
    result.lo = std::move(lo);
    result.hi = std::move(hi);
    result.marks.unroll = unroll;
    result.body = std::move(body);
    return result;
  }
  kernel::Stmt add_one(Expr at) const {
    return Store{
        0, {std::move(at)}, scalar::ReduceOp::Sum, scalar::float_lit(1, {scalar::Elem::F32, 1})};
  }
  std::vector<double> run(const kernel::Kernel& made,
                          const std::vector<int64_t>& params = {}) const {
    std::vector<kernel::Elements> elements(1, kernel::Elements(64));
    for (size_t c = 0; c < 16; ++c)
      elements[0][c].f = static_cast<double>(c + 1);
    const auto done = kernel::interpret(made, params, elements, {.seed = 1});
    if (!done)
      throw std::runtime_error(done.error() + "\n" + print(made));
    std::vector<double> result;
    for (const auto& element : elements[0])
      result.push_back(element.f);
    return result;
  }
};

TEST(Triangles, DiagonalsOfLoopsThatShareAVariable) {
  // The same expression decides over a lower bound in one loop, over an upper one in the next; in
  // the third the variable that it has runs further.
  Loops loops;
  const Expr i = var(loops.i), j = var(loops.j);
  const Expr outer = int_lit(7);
  const uint32_t r = add_variable(loops.kernel, "r", scalar::kIndex);
  const auto edge = [&](const Expr& shift) { return scalar::simplify(i + shift - var(r)); };
  const auto at = [&](int64_t base, const Expr& e) {
    return loops.add_one(scalar::simplify(int_lit(base) + e));
  };
  const auto rows = [&](int64_t end, const Expr& lo, const Expr& hi, int64_t base) {
    return loops.loop(
        loops.j, int_lit(0), int_lit(end),
        block_of(loops.loop(loops.k, lo, hi, block_of(at(base, var(loops.k))), poly::kFullUnroll)));
  };
  kernel::Block body;
  body.push_back(rows(2, binary(BinaryOp::Max, int_lit(0), edge(j)), int_lit(8), 0));
  body.push_back(rows(2, int_lit(0), binary(BinaryOp::Min, int_lit(8), edge(j)), 8));
  body.push_back(rows(6, binary(BinaryOp::Max, int_lit(0), edge(j)), int_lit(8), 16));
  body.push_back(loops.loop(
      loops.j, binary(BinaryOp::Min, i, int_lit(5)), int_lit(12),
      block_of(loops.loop(loops.k, binary(BinaryOp::Max, int_lit(0), edge(j)), int_lit(8),
                          block_of(at(24, var(loops.k))), poly::kFullUnroll))));
  loops.kernel.body =
      block_of(loops.loop(r, int_lit(0), int_lit(4),
                          block_of(loops.loop(loops.i, int_lit(0), outer, std::move(body)))));
  ASSERT_TRUE(spec(loops.kernel).empty());
  const kernel::Kernel made = kernel::split_triangular(loops.kernel);
  EXPECT_NE(print(made), print(loops.kernel)) << "nothing was split";
  EXPECT_EQ(loops.run(made), loops.run(loops.kernel)) << print(made);
}

/// A packed operand that is copied in two parts: the zeros that fill one of them up must not go
/// over the other.
TEST(Triangles, ZerosAroundAPartOfAPackedBufferSpareTheRest) {
  Loops loops;
  loops.kernel.params = {{"N", {}}};
  loops.kernel.buffers.push_back(
      {"P", scalar::Elem::F32, {int_lit(8)}, kernel::Scope::Workspace, program::Role::Temp, true});
  const Expr n = scalar::param(0), j = var(loops.j);
  const scalar::Type f32{scalar::Elem::F32, 1};
  const auto copy = [&](const Expr& lo, const Expr& hi) {
    return loops.loop(loops.j, lo, hi,
                      block_of(Store{1, {j}, scalar::ReduceOp::None, scalar::load(0, {j}, f32)}),
                      poly::kFullUnroll);
  };
  const Expr middle = n - int_lit(3);
  loops.kernel.body.push_back(copy(int_lit(0), binary(BinaryOp::Min, int_lit(8), middle)));
  loops.kernel.body.push_back(copy(binary(BinaryOp::Max, int_lit(0), middle), int_lit(8)));
  const kernel::Stmt sum =
      Store{0, {j + int_lit(32)}, scalar::ReduceOp::Sum, scalar::load(1, {j}, f32)};
  loops.kernel.body.push_back(
      loops.loop(loops.k, int_lit(0), int_lit(3),
                 block_of(loops.loop(loops.j, int_lit(0), binary(BinaryOp::Min, int_lit(8), n),
                                     block_of(sum), poly::kFullUnroll))));
  ASSERT_EQ(spec(loops.kernel), std::vector<std::string>{});
  const kernel::Kernel made = kernel::separate_tiles(loops.kernel);
  EXPECT_TRUE(made.buffers[1].is_packed);
  for (int64_t size = 0; size < 14; ++size)
    EXPECT_EQ(loops.run(made, {size}), loops.run(loops.kernel, {size})) << size << print(made);
}

TEST(Triangles, LastTilesOnlyWhereTheOthersAreFull) {
  // min(i + 1, 5 - i) is 1 at the first tile and at the last but one, and 3 between them.
  Loops loops;
  const Expr i = var(loops.i);
  const Expr end = binary(BinaryOp::Min, i + int_lit(1), int_lit(5) - i);
  loops.kernel.body = block_of(loops.loop(
      loops.i, int_lit(0), int_lit(6),
      block_of(loops.loop(loops.j, int_lit(0), end,
                          block_of(loops.add_one(scalar::simplify(i * int_lit(8) + var(loops.j)))),
                          poly::kFullUnroll))));
  const kernel::Kernel made = kernel::peel_last_tiles(loops.kernel);
  EXPECT_EQ(loops.run(made), loops.run(loops.kernel)) << print(made);
}

/// A launch of 4 threads whose body has a loop over j and then, where loops were joined, a
/// definition of j.
struct Joined : Loops {
  kernel::Launch launch;
  kernel::Kernel inside; ///< the body alone, as passes over launches see it

  explicit Joined(const std::function<kernel::Block(Joined&)>& body) {
    launch.name = "launch";
    launch.blocks = {int_lit(1), int_lit(1), int_lit(1)};
    launch.threads = {4, 1, 1};
    for (size_t a = 0; a < 3; ++a) {
      launch.block_vars[a] = add_variable(kernel, "block", scalar::kIndex);
      launch.thread_vars[a] = add_variable(kernel, "thread", scalar::kIndex);
    }
    inside = kernel;
    inside.body = body(*this);
  }
  kernel::Kernel whole(const kernel::Kernel& passed) const {
    kernel::Kernel result = passed;
    kernel::Launch with_body = launch;
    with_body.body = passed.body;
    result.body = block_of(std::move(with_body));
    return result;
  }
  /// j in 0..1, and after that j = 2*k + 3 of a loop over k: up to 13.
  kernel::Block after_short_loop(kernel::Block body) const {
    kernel::Block result = block_of(loop(
        j, int_lit(0), int_lit(2), block_of(add_one(int_lit(60) + var(launch.thread_vars[0])))));
    kernel::Block inner;
    inner.push_back(kernel::Define{j, scalar::simplify(var(k) * int_lit(2) + int_lit(3))});
    inner.insert(inner.end(), body.begin(), body.end());
    result.push_back(loop(k, int_lit(0), int_lit(6), std::move(inner)));
    return result;
  }
};

TEST(Triangles, UniformTilesKnowWhatADefinitionSays) {
  const Joined joined([](Joined& made) {
    const Expr element = var(made.launch.thread_vars[0]) * int_lit(14) + var(made.j);
    const Expr fits = binary(BinaryOp::Lt, var(made.j), int_lit(8));
    return made.after_short_loop(
        block_of(kernel::If{fits, block_of(made.add_one(scalar::simplify(element))), {}}));
  });
  const kernel::Kernel made = kernel::uniform_tiles(joined.inside, joined.launch);
  EXPECT_EQ(joined.run(joined.whole(made)), joined.run(joined.whole(joined.inside))) << print(made);
}

TEST(Triangles, UnequalCopiesKnowWhatADefinitionSays) {
  const Joined joined([](Joined& made) {
    const Expr element = var(made.launch.thread_vars[0]) * int_lit(14) + var(made.i);
    return made.after_short_loop(
        block_of(made.loop(made.i, int_lit(0), var(made.j),
                           block_of(made.add_one(scalar::simplify(element))), poly::kFullUnroll)));
  });
  const kernel::Kernel made = kernel::guarded_unroll(joined.inside, joined.launch);
  EXPECT_EQ(joined.run(joined.whole(made)), joined.run(joined.whole(joined.inside))) << print(made);
}

TEST(Triangles, ElementsAreOwnedByWhatADefinitionSays) {
  // Thread t and j = 2 * 4 - 1 touch what thread t + 1 does: nobody owns X.
  Joined joined([](Joined& made) {
    const Expr element = var(made.launch.thread_vars[0]) * int_lit(4) + var(made.j);
    return made.after_short_loop(block_of(made.add_one(scalar::simplify(element))));
  });
  joined.launch.body = joined.inside.body;
  // The first loop touches X elsewhere; without it only the definition counts.
  joined.launch.body.erase(joined.launch.body.begin());
  EXPECT_TRUE(kernel::thread_private_buffers(joined.inside, joined.launch).empty());
  kernel::Launch both = joined.launch;
  kernel::Block loops =
      block_of(joined.loop(joined.j, int_lit(0), int_lit(2),
                           block_of(joined.add_one(scalar::simplify(
                               var(both.thread_vars[0]) * int_lit(4) + var(joined.j))))));
  both.body.insert(both.body.begin(), loops.begin(), loops.end());
  EXPECT_TRUE(kernel::thread_private_buffers(joined.inside, both).empty());
}

} // namespace
} // namespace kawara
