#include "kernel/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::kernel {
namespace {

using scalar::int_lit;
using scalar::var;

Expr number(double value) { return scalar::float_lit(value, {scalar::Elem::F32, 1}); }

/// for i in range(0, N): body(i)   over A: f32[N], with the loop parallel or not.
Kernel loop_over(bool is_parallel, const std::function<Block(const Expr&)>& body) {
  Kernel k;
  k.params = {{"N", {}}};
  k.buffers = {
      {"A", scalar::Elem::F32, {scalar::param(0)}, Scope::Argument, program::Role::Output}};
  const uint32_t i = add_variable(k, "i", scalar::kIndex);
  For loop;
  loop.var = i;
  loop.lo = int_lit(0);
  loop.hi = scalar::param(0);
  loop.marks.is_parallel = is_parallel;
  loop.body = body(var(i));
  k.body = block_of(std::move(loop));
  return k;
}

std::string run(const Kernel& k, int64_t n) {
  std::vector<Elements> arguments(1);
  const auto done = interpret(k, {n}, arguments, {.seed = 1});
  return done ? "" : done.error();
}

Expr element(const Expr& at) { return scalar::load(0, {at}, {scalar::Elem::F32, 1}); }

TEST(Interpret, ReportsARaceWithBothIterations) {
  const Kernel k = loop_over(true, [](const Expr&) {
    return block_of(Store{0, {int_lit(0)}, ReduceOp::None, number(1)});
  });
  const std::string what = run(k, 2);
  EXPECT_NE(what.find("race: iterations"), std::string::npos) << what;
  EXPECT_NE(what.find("of parallel loop i both touch A[0]"), std::string::npos) << what;
  EXPECT_EQ(run(k, 1), "");
}

TEST(Interpret, SerialIterationsMayMeet) {
  const Kernel k = loop_over(false, [](const Expr&) {
    return block_of(Store{0, {int_lit(0)}, ReduceOp::None, number(1)});
  });
  EXPECT_EQ(run(k, 5), "");
}

TEST(Interpret, ParallelReadersOfOneElementAreNoRace) {
  Kernel k = loop_over(true, [](const Expr& i) {
    return block_of(If{scalar::binary(scalar::BinaryOp::Gt, i, int_lit(0)),
                       block_of(Store{0, {i}, ReduceOp::None, element(int_lit(0))}),
                       {}});
  });
  k.body.insert(k.body.begin(), Store{0, {int_lit(0)}, ReduceOp::None, number(4)});
  EXPECT_EQ(run(k, 6), "");
}

TEST(Interpret, ReportsBoundsAndUnwrittenElements) {
  const Kernel past = loop_over(false, [](const Expr& i) {
    return block_of(Store{0, {scalar::simplify(i + int_lit(1))}, ReduceOp::None, number(1)});
  });
  EXPECT_EQ(run(past, 3), "A[3] is out of bounds");
  const Kernel early = loop_over(false, [](const Expr& i) {
    return block_of(Store{0, {i}, ReduceOp::Sum, number(1)});
  });
  EXPECT_EQ(run(early, 3), "A[0] is read before it is written");
}

TEST(Spec, FindsWhatIsMalformed) {
  const Kernel good = loop_over(false, [](const Expr& i) {
    return block_of(Store{0, {i}, ReduceOp::None, number(1)});
  });
  EXPECT_TRUE(spec(good).empty());
  const Kernel unknown = loop_over(false, [](const Expr&) {
    return block_of(Store{0, {var(7)}, ReduceOp::None, number(1)});
  });
  EXPECT_FALSE(spec(unknown).empty());
  const Kernel rank = loop_over(false, [](const Expr&) {
    return block_of(Store{0, {}, ReduceOp::None, number(1)});
  });
  EXPECT_FALSE(spec(rank).empty());
  const Kernel lanes = loop_over(false, [](const Expr& i) {
    return block_of(Store{0, {i}, ReduceOp::None, scalar::broadcast(number(1), 4)});
  });
  EXPECT_FALSE(spec(lanes).empty());
  const Kernel iterator = loop_over(false, [](const Expr&) {
    return block_of(Store{0, {scalar::iter(0)}, ReduceOp::None, number(1)});
  });
  EXPECT_FALSE(spec(iterator).empty());
}

} // namespace
} // namespace kawara::kernel
