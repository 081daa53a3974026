#include "emit/unit.h"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

// What the LLVM text and the assembly of small kernels must and must not contain.

namespace kawara::emit {
namespace {

using program::Numerics;
using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;
using scalar::ramp;
using scalar::ReduceOp;

constexpr scalar::Type kF32{Elem::F32, 1};

kernel::For loop(uint32_t var, Expr lo, Expr hi, kernel::Block body) {
  kernel::For f;
  f.var = var;
  f.lo = std::move(lo);
  f.hi = std::move(hi);
  f.body = std::move(body);
  return f;
}

kernel::Buffer buffer(const char* name, std::vector<Expr> shape,
                      kernel::Scope scope = kernel::Scope::Argument) {
  return {name, Elem::F32, std::move(shape), scope, program::Role::Inout};
}

/// s[0] += a[i] * b[i]
kernel::Kernel dot(Numerics numerics) {
  kernel::Kernel k;
  k.name = "dot";
  k.numerics = numerics;
  k.params = {{"n", {}}};
  const Expr n = scalar::param(0), i = scalar::var(0);
  k.buffers = {buffer("a", {n}), buffer("b", {n}), buffer("s", {int_lit(1)})};
  k.variables = {{"i", scalar::kIndex}};
  const Expr product = scalar::load(0, {i}, kF32) * scalar::load(1, {i}, kF32);
  k.body = {loop(0, int_lit(0), n, {kernel::Store{2, {int_lit(0)}, ReduceOp::Sum, product}})};
  return k;
}

std::string ir_of(const kernel::Kernel& k, int opt_level) {
  EmitOptions options;
  options.opt_level = opt_level;
  return module_from_kernel(k, options).ir();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LlvmModule, RelaxesOnlyWhatTheContractAllows) {
  const std::string exact = ir_of(dot(Numerics::Exact), 0);
  EXPECT_TRUE(has(exact, "fmul float"));
  EXPECT_TRUE(has(exact, "fadd float"));
  const std::string rounding = ir_of(dot(Numerics::Rounding), 0);
  EXPECT_TRUE(has(rounding, "fmul contract float"));
  EXPECT_TRUE(has(rounding, "fadd reassoc nsz contract float"));
  const std::string fast = ir_of(dot(Numerics::Fast), 0);
  EXPECT_TRUE(has(fast, "fmul arcp contract afn float"));
  for (const std::string& text : {exact, rounding, fast}) {
    EXPECT_FALSE(has(text, "nnan"));
    EXPECT_FALSE(has(text, "ninf"));
    EXPECT_FALSE(has(text, " fast "));
    EXPECT_FALSE(has(text, "llvm.fma"));
  }
}

TEST(LlvmModule, ReductionsBecomeVectorsUnlessExact) {
  const std::regex vector_sum("fadd [a-z ]*<[0-9]+ x float>");
  EXPECT_FALSE(std::regex_search(ir_of(dot(Numerics::Exact), 3), vector_sum));
  EXPECT_TRUE(std::regex_search(ir_of(dot(Numerics::Rounding), 3), vector_sum));
}

TEST(LlvmModule, LoweredUpdatesAreUpdatesToo) {
  kernel::Kernel k = dot(Numerics::Rounding);
  const auto& update = std::get<kernel::Store>(std::get<kernel::For>(k.body[0]).body[0]);
  const Expr old = scalar::load(2, {int_lit(0)}, kF32);
  k.body = {loop(0, int_lit(0), scalar::param(0),
                 {kernel::Store{2, {int_lit(0)}, ReduceOp::None, old + update.value}})};
  EXPECT_TRUE(has(ir_of(k, 0), "fadd reassoc nsz contract float"));
}

TEST(LlvmModule, ArgumentsDoNotAlias) {
  const std::string text = ir_of(dot(Numerics::Rounding), 0);
  EXPECT_TRUE(std::regex_search(text, std::regex("@dot\\.kernel\\(ptr noalias")));
  EXPECT_TRUE(has(text, "define void @kawara.dot(ptr"));
}

TEST(LlvmModule, ParallelBodiesDoNotAliasEither) {
  kernel::Kernel k = dot(Numerics::Rounding);
  auto& outer = std::get<kernel::For>(k.body[0]);
  outer.marks.is_parallel = true;
  const Expr element = scalar::load(0, {scalar::var(0)}, kF32);
  outer.body = {kernel::Store{1, {scalar::var(0)}, ReduceOp::None, element + element}};
  const std::string text = ir_of(k, 3);
  EXPECT_TRUE(std::regex_search(text, std::regex("@dot\\.parallel0\\.range\\(ptr noalias")));
  EXPECT_TRUE(has(text, "load <")) << "the body is not vectorised";
  EXPECT_FALSE(has(text, "vector.memcheck")) << "the body checks for overlap at run time";
}

TEST(LlvmModule, SignatureSortsBuffers) {
  kernel::Kernel k = dot(Numerics::Rounding);
  k.buffers.push_back(buffer("t", {scalar::param(0)}, kernel::Scope::Workspace));
  k.buffers.push_back(buffer("small", {int_lit(8192)}, kernel::Scope::Private));
  k.buffers.push_back(buffer("large", {int_lit(8193)}, kernel::Scope::Private));
  k.buffers.push_back(buffer("any", {scalar::param(0)}, kernel::Scope::Private));
  k.buffers.push_back(buffer("unused", {scalar::param(0)}, kernel::Scope::Workspace));
  for (uint32_t id = 3; id < 7; ++id)
    k.body.push_back(kernel::Zero{id});
  const Signature s = signature_of(k);
  EXPECT_EQ(s.arguments.size(), 3U);
  ASSERT_EQ(s.workspace.size(), 1U);
  EXPECT_EQ(s.workspace[0].name, "t");
  ASSERT_EQ(s.scratch.size(), 2U);
  EXPECT_EQ(s.scratch[0].name, "large");
  const std::vector<int64_t> params{5};
  EXPECT_EQ(bytes_of(s.workspace[0], params), 20);
  EXPECT_EQ(layout_of(s.scratch, params), (std::vector<int64_t>{0, 32832, 32896}));
  EXPECT_FALSE(bytes_of(s.workspace[0], std::vector<int64_t>{-1}));
  EXPECT_FALSE(bytes_of(s.workspace[0], {}));
}

/// C[rows, 12] += A[k, rows] * B[k, 12], the accumulators in variables.
kernel::Kernel micro_kernel(int64_t rows) {
  kernel::Kernel k;
  k.name = "micro";
  k.params = {{"K", {}}};
  const Expr n = scalar::param(0), at = scalar::var(0);
  k.buffers = {buffer("A", {n, int_lit(rows)}), buffer("B", {n, int_lit(12)}),
               buffer("C", {int_lit(rows), int_lit(12)})};
  k.variables = {{"k", scalar::kIndex}};
  const scalar::Type four{Elem::F32, 4};
  kernel::Block inner, after;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < 3; ++c) {
      k.variables.push_back({"c" + std::to_string(r) + "_" + std::to_string(c), four});
      const auto id = static_cast<uint32_t>(k.variables.size() - 1);
      const std::vector<Expr> element{int_lit(r), ramp(int_lit(4 * c), 1, 4)};
      k.body.push_back(kernel::Define{id, scalar::load(2, element, four)});
      const Expr a = scalar::broadcast(scalar::load(0, {at, int_lit(r)}, kF32), 4);
      const Expr b = scalar::load(1, {at, ramp(int_lit(4 * c), 1, 4)}, four);
      inner.push_back(kernel::Assign{id, scalar::var(id, four) + a * b});
      after.push_back(kernel::Store{2, element, ReduceOp::None, scalar::var(id, four)});
    }
  k.body.push_back(loop(0, int_lit(0), n, inner));
  k.body.insert(k.body.end(), after.begin(), after.end());
  return k;
}

/// Lines from a label to the last backward branch to it: the only loop.
std::vector<std::string> loop_lines(const std::string& assembly) {
  std::vector<std::string> lines;
  std::istringstream stream(assembly);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  for (size_t end = 0; end < lines.size(); ++end) {
    std::smatch label;
    if (!std::regex_search(lines[end], label, std::regex("\\s(b|j)[a-z.]+\\s+(\\.LBB[0-9_]+)")))
      continue;
    for (size_t begin = 0; begin < end; ++begin)
      if (lines[begin].rfind(label[2].str() + ":", 0) == 0)
        return {lines.begin() + static_cast<ptrdiff_t>(begin),
                lines.begin() + static_cast<ptrdiff_t>(end)};
  }
  return {};
}

TEST(LlvmModule, AccumulatorsStayInRegisters) {
  // 24 accumulators and their operands fill 32 registers; with 16, 9 leave room for the operands.
  const CodeTarget host = host_code_target();
  const bool has_many = host.triple.rfind("aarch64", 0) == 0 || has(host.features, "+avx512vl");
  const int64_t rows = has_many ? 8 : 3;
  const LlvmUnit unit = module_from_kernel(micro_kernel(rows));
  const auto lines = loop_lines(*unit.assembly());
  ASSERT_FALSE(lines.empty()) << *unit.assembly();
  int products = 0;
  for (const std::string& line : lines) {
    products += has(line, "fmla") || has(line, "vfmadd") ? 1 : 0;
    EXPECT_FALSE(std::regex_search(line, std::regex("\\s(st[rpu1][a-z]*)\\s"))) << line;
    EXPECT_FALSE(std::regex_search(line, std::regex("mov[au]ps\\s+%[xyz]mm[0-9]+, .*\\("))) << line;
  }
  const bool has_fma =
      has(unit.target().features, "+fma") || unit.target().triple.rfind("aarch64", 0) == 0;
  EXPECT_EQ(products, has_fma ? 3 * rows : 0);
}

/// b[c, 0..4) = a[0..4, c] for the first `columns` columns.
kernel::Kernel transposition(int64_t columns) {
  kernel::Kernel k;
  k.name = "turn";
  k.buffers = {buffer("a", {int_lit(8), int_lit(8)}), buffer("b", {int_lit(8), int_lit(8)})};
  for (int64_t c = 0; c < columns; ++c)
    k.body.emplace_back(
        kernel::Store{1,
                      {int_lit(c), ramp(int_lit(0), 1, 4)},
                      ReduceOp::None,
                      scalar::load(0, {ramp(int_lit(0), 1, 4), int_lit(c)}, {Elem::F32, 4})});
  return k;
}

TEST(LlvmModule, ColumnsSideBySideAreLoadedAsRows) {
  EXPECT_FALSE(has(ir_of(transposition(4), 0), "load float,"));
  EXPECT_TRUE(has(ir_of(transposition(3), 0), "load float,")) << "three columns are no square";
}

TEST(LlvmModule, ColumnsOfWhatWasJustStoredAreLoadedAsRows) {
  const kernel::Stmt write =
      kernel::Store{0, {int_lit(0), int_lit(2)}, ReduceOp::None, scalar::float_lit(1, kF32)};
  kernel::Kernel before = transposition(4), between = before;
  before.body.insert(before.body.begin(), write);
  between.body.insert(between.body.begin() + 2, write);
  EXPECT_FALSE(has(ir_of(before, 0), "load float,"));
  EXPECT_TRUE(has(ir_of(between, 0), "load float,")) << "the first two columns come before";
}

TEST(LlvmModule, CompileTimesAreReported) {
  const EmitTimes times = module_from_kernel(dot(Numerics::Rounding)).times();
  EXPECT_GT(times.build, 0);
  EXPECT_GT(times.optimise, 0);
}

/// b[4*i..] = a[8*i], a[8*i + 2], ...
kernel::Kernel every_other(kernel::Scope scope) {
  kernel::Kernel k;
  k.name = "every_other";
  const Expr i = scalar::var(0);
  k.buffers = {buffer("a", {int_lit(64)}, scope), buffer("b", {int_lit(32)})};
  k.variables = {{"i", scalar::kIndex}};
  const Expr elements = scalar::load(0, {ramp(i * int_lit(8), 2, 4)}, {Elem::F32, 4});
  k.body = {loop(0, int_lit(0), int_lit(8),
                 {kernel::Store{1, {ramp(i * int_lit(4), 1, 4)}, ReduceOp::None, elements}})};
  return k;
}

TEST(LlvmModule, LoadsAllElementsBetweenLanesOnlyWhereThereIsRoomBehindThem) {
  EXPECT_TRUE(has(ir_of(every_other(kernel::Scope::Workspace), 0), "load <8 x float>"));
  const std::string inside = ir_of(every_other(kernel::Scope::Argument), 0);
  EXPECT_FALSE(has(inside, "load <8 x float>"));
  EXPECT_FALSE(has(inside, "load float,"))
      << "two loads of which the second ends with the last lane";
  EXPECT_TRUE(has(inside, "load <4 x float>"));
}

/// The lanes run along a dimension with `inside` elements in it.
TEST(LlvmModule, LoadsAllElementsBetweenLanesOfADimensionWithFewElementsInside) {
  const auto inner = [](int64_t inside) {
    kernel::Kernel k = every_other(kernel::Scope::Argument);
    k.buffers[0] = buffer("a", {int_lit(32), int_lit(inside)});
    const Expr at = ramp(scalar::var(0) * int_lit(4), 1, 4);
    auto& body = std::get<kernel::For>(k.body[0]).body;
    std::get<kernel::Store>(body[0]).value =
        scalar::load(0, {at, int_lit(inside - 1)}, {Elem::F32, 4});
    return ir_of(k, 0);
  };
  EXPECT_FALSE(has(inner(2), "load float,"));
  EXPECT_TRUE(has(inner(2), "load <4 x float>"));
  EXPECT_TRUE(has(inner(5), "load float,"));
}

} // namespace
} // namespace kawara::emit
