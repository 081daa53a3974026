#include "estimate/count.h"
#include "estimate/roofline.h"
#include "scalar/eval.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace kawara::estimate {
namespace {

using program::Role;
using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;
using scalar::iter;
using scalar::param;

constexpr scalar::Type kF64{Elem::F64, 1};

program::Loop loop(Expr lo, Expr hi, program::Body body, int64_t step = 1) {
  program::Loop l;
  l.name = "i";
  l.lo = std::move(lo);
  l.hi = std::move(hi);
  l.step = step;
  l.body = std::move(body);
  return l;
}

/// One statement A[0] += A[0] * A[0] in the given loops.
program::Program nest(program::Body body) {
  program::Program p;
  p.params = {{"N", {}}};
  p.tensors = {{"A", Role::Inout, Elem::F64, {param(0)}, {}},
               {"B", Role::Input, Elem::F32, {}, {}}};
  const Expr element = scalar::load(0, {int_lit(0)}, kF64);
  program::Statement s;
  s.name = "S0";
  s.tensor = 0;
  s.index = {int_lit(0)};
  s.op = scalar::ReduceOp::Sum;
  s.value = element * element;
  p.statements = {s};
  p.body = std::move(body);
  return p;
}

double brute(const program::Body& body, std::vector<int64_t>& iters, int64_t n) {
  double total = 0;
  for (const program::BodyNode& node : body) {
    if (const auto* l = std::get_if<program::Loop>(&node)) {
      const int64_t lo = *scalar::evaluate_index(l->lo, iters, {n});
      const int64_t hi = *scalar::evaluate_index(l->hi, iters, {n});
      for (int64_t i = lo; l->step > 0 ? i < hi : i > hi; i += l->step) {
        iters.push_back(i);
        total += brute(l->body, iters, n);
        iters.pop_back();
      }
    } else if (const auto* c = std::get_if<program::If>(&node)) {
      total += brute(*scalar::evaluate_index(c->cond, iters, {n}) != 0 ? c->then : c->otherwise,
                     iters, n);
    } else {
      total += 1;
    }
  }
  return total;
}

std::vector<program::Body> nests() {
  const program::Body leaf{program::StatementRef{0}};
  const Expr n = param(0), zero = int_lit(0);
  const auto in = [&](Expr lo, Expr hi, program::Body body, int64_t step = 1) {
    return program::Body{loop(std::move(lo), std::move(hi), std::move(body), step)};
  };
  const Expr near = scalar::binary(scalar::BinaryOp::Min, n, iter(0) + int_lit(7));
  program::If middle;
  middle.cond = scalar::binary(scalar::BinaryOp::Lt, iter(0), int_lit(5));
  middle.then = leaf;
  return {
      leaf,
      in(zero, n, in(zero, n, in(zero, n, leaf))),
      in(zero, n, in(zero, iter(0), leaf)),
      in(zero, n, in(iter(0), n, in(iter(0), iter(1) + int_lit(1), leaf))),
      in(zero, n, in(iter(0) - int_lit(5), int_lit(10), leaf)), // empty for late iterations
      in(zero, n, in(zero, iter(0), in(iter(1) * int_lit(2), iter(0), leaf))), // parity
      in(zero, n, in(int_lit(20) - iter(0), iter(0), leaf)), // empty for early ones
      in(n, zero, in(zero, iter(0), leaf), -1),
      in(zero, n, in(zero, iter(0), leaf, 3), 2),
      in(zero, n, in(iter(0), near, leaf)),
      in(zero, n, {middle}),
  };
}

TEST(Count, EqualsEnumeration) {
  size_t which = 0;
  for (const program::Body& body : nests()) {
    for (const int64_t n : {0, 1, 5, 12, 13, 40}) {
      std::vector<int64_t> iters;
      const auto work = count(nest(body), std::vector<int64_t>{n});
      ASSERT_TRUE(work);
      EXPECT_EQ(work->statements[0].instances, brute(body, iters, n)) << which << " N=" << n;
    }
    ++which;
  }
}

TEST(Count, LargeTriangularNestsAreQuick) {
  const auto begin = std::chrono::steady_clock::now();
  const auto work = count(nest(nests()[3]), std::vector<int64_t>{4000});
  ASSERT_TRUE(work);
  const double n = 4000;
  EXPECT_EQ(work->statements[0].instances, n * (n + 1) * (n + 2) / 6);
  EXPECT_EQ(work->flops, work->statements[0].instances * 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

/// A padded image of a damaged file: each element is asked whether it is inside.
TEST(Count, ConditionsOnManyElementsAreQuick) {
  const auto program = program::parse(make_source("pad.kw", R"(input X: f32[8, 8]
output Y: f32[1048584, 64]
for i in range(1048584):
    for j in range(64):
        if i < 8 and j < 8:
            Y[i, j] = X[i, j]
        else:
            Y[i, j] = 0
)"));
  ASSERT_TRUE(program);
  const auto begin = std::chrono::steady_clock::now();
  const auto work = count(*program, {});
  ASSERT_TRUE(work);
  double instances = 0;
  for (const StatementWork& statement : work->statements)
    instances += statement.instances;
  EXPECT_EQ(instances, 1048584.0 * 64);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Count, CompulsoryBytesFollowRoles) {
  const auto work = count(nest(nests()[0]), std::vector<int64_t>{100});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->compulsory_bytes, 2 * 800 + 4);
}

TEST(Count, RefusesMissingParameters) {
  const auto work = count(nest(nests()[0]), {});
  ASSERT_FALSE(work);
  EXPECT_EQ(work.error().code, "K0445");
}

TEST(Count, SelectCountsTheDearerSide) {
  const Expr x = scalar::load(0, {int_lit(0)}, kF64);
  const Expr choice = scalar::select(scalar::binary(scalar::BinaryOp::Lt, x, x), x + x * x,
                                     scalar::unary(scalar::UnaryOp::Exp, x));
  EXPECT_EQ(flops_of(choice), 2);
  EXPECT_EQ(flops_of(scalar::cast(iter(0) + int_lit(1), kF64)), 0);
}

program::Program parsed(const char* text) {
  auto program = program::parse(make_source("test.kw", text));
  EXPECT_TRUE(program);
  return *std::move(program);
}

constexpr const char* kBytes = R"(param M, N, K
input A: i8[M, K], B: i8[K, N]
output C: i32[M, N]
for i in range(M):
    for j in range(N):
        C[i, j] = 0
        for k in range(K):
            C[i, j] += A[i, k] * B[k, j]
)";

TEST(Count, ProductsOfIntegersAreOperationsOfTheirOperands) {
  const auto work = count(parsed(kBytes), std::vector<int64_t>{3, 5, 7});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 0);
  EXPECT_EQ(work->int_ops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(work->types, (OperationsByType{{Elem::I8, 2.0 * 3 * 5 * 7}}));
  EXPECT_EQ(quantities(*work), "210 OP");
  EXPECT_EQ(std::string(unit_of(*work)), "OP");
}

/// i + 1 and the row number plus one say where an element lies; 2 * S[i] is data, and so is the
/// float beside it.
TEST(Count, ArithmeticOfIndicesIsNone) {
  const auto work = count(parsed(R"(param N
input X: f32[N + 2], S: i64[N], W: bf16[N]
output Y: f32[N], T: i64[N]
for i in range(N):
    T[i] = 2 * S[i] - i
    Y[i] = X[i + 1] * W[i]
)"),
                          std::vector<int64_t>{100});
  ASSERT_TRUE(work);
  EXPECT_EQ(work->statements[0].int_ops_per_instance, 2);
  EXPECT_EQ(work->statements[1].int_ops_per_instance, 0);
  EXPECT_EQ(work->types, (OperationsByType{{Elem::I64, 200}, {Elem::F32, 100}}))
      << "bf16 is widened to meet f32";
  EXPECT_EQ(quantities(*work), "100 FLOP, 200 OP");
}

TEST(Roofline, IsOfTheTypesThatAreMultiplied) {
  Machine machine = described_machine(*target::named_cpu("neoverse-n1"));
  const auto work = count(parsed(kBytes), std::vector<int64_t>{64, 64, 64});
  ASSERT_TRUE(work);
  const double vectors = find_peak(machine, Elem::F32)->flops.one;
  EXPECT_DOUBLE_EQ(roof_over(*work, machine, 1).peak_flops, vectors) << "computed in i32";
  machine.peaks.push_back({Elem::I8, "neon.sdot", {4 * vectors, 8 * vectors}});
  const Roof roof = roof_over(*work, machine, 1);
  EXPECT_DOUBLE_EQ(roof.peak_flops, 4 * vectors);
  EXPECT_DOUBLE_EQ(roof_over(*work, machine, 2).peak_flops, 8 * vectors);
  Work mixed = *work;
  mixed.flops = work->int_ops;
  mixed.types[Elem::F32] = work->int_ops;
  EXPECT_DOUBLE_EQ(roof_over(mixed, machine, 1).peak_flops, 2 / (1 / vectors + 0.25 / vectors));
  const RooflinePoint point{"bytes", operations_of(*work), work->compulsory_bytes, 1e-6};
  EXPECT_NE(describe(roof, point).find("GOP/s attainable"), std::string::npos)
      << describe(roof, point);
  const std::string svg = roofline_svg(roof, {point});
  EXPECT_NE(svg.find(">OP per byte<"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">GOP/s<"), std::string::npos) << svg;
}

TEST(Roofline, PlacesPoints) {
  const Roof roof{40e9, 20e9};
  const RooflinePlace gemm = place(roof, {"gemm", 2e9, 12e6, 0.1});
  EXPECT_FALSE(gemm.is_memory_bound);
  EXPECT_DOUBLE_EQ(gemm.share, 0.5);
  EXPECT_DOUBLE_EQ(gemm.attainable, 40e9);
  const RooflinePlace add = place(roof, {"add", 1e6, 12e6, 0.0012});
  EXPECT_TRUE(add.is_memory_bound);
  EXPECT_DOUBLE_EQ(add.share, 0.5);
  const RooflinePlace copy = place(roof, {"copy", 0, 2e9, 0.1});
  EXPECT_TRUE(copy.is_memory_bound);
  EXPECT_DOUBLE_EQ(copy.share, 1.0);
}

TEST(Roofline, DescribesAndDraws) {
  const Roof roof{40e9, 20e9};
  const RooflinePoint point{"gemm <1024>", 2e9, 12e6, 0.1};
  EXPECT_EQ(describe(roof, point),
            "gemm <1024>: 20 GFLOP/s of 40 GFLOP/s attainable (50 %), 167 FLOP/byte\n"
            "bound by arithmetic: peak 40 GFLOP/s; memory could feed 20 GB/s\n");
  EXPECT_NE(describe(roof, {"slow", 2e9, 12e6, 16}).find("attainable (0.3 %)"), std::string::npos)
      << "a little is not nothing";
  const std::string svg = roofline_svg(roof, {point, {"copy", 0, 1e9, 1}});
  EXPECT_NE(svg.find("gemm &lt;1024&gt;: 20 GFLOP/s, 50 %"), std::string::npos);
  EXPECT_EQ(svg.rfind("<svg", 0), 0U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

/// What stays in a cache from run to run is not read from memory.
TEST(Roofline, BandwidthIsThatOfTheNearestCacheThatHoldsTheData) {
  const Machine machine = described_machine(*target::named_cpu("neoverse-n1"));
  ASSERT_GT(machine.levels.size(), 2U);
  Work work;
  for (size_t k = 0; k + 1 < machine.levels.size(); ++k) {
    work.compulsory_bytes = static_cast<double>(machine.levels[k].bytes);
    EXPECT_EQ(roof_over(work, machine, 1).level, machine.levels[k].name);
    EXPECT_DOUBLE_EQ(roof_over(work, machine, 1).bandwidth_bytes, machine.levels[k].triad.one);
  }
  work.compulsory_bytes += 1;
  EXPECT_EQ(roof_over(work, machine, 1).level, "memory");
}

} // namespace
} // namespace kawara::estimate
