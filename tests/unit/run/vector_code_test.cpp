#include "unit/run/hand_kernel.h"

#include "run/buffer.h"
#include "run/measure.h"
#include "scalar/half.h"

#include <cmath>
#include <numeric>

// Vector accesses, reductions, variables and private memory of compiled kernels.

namespace kawara::run {
namespace {

using scalar::broadcast;
using scalar::ramp;
using scalar::ReduceOp;

std::vector<float> counted(size_t n, float first = 1.0F) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), first);
  return v;
}

/// One store of out[0..4) = value(A), A of 64 elements 1, 2, ...
std::vector<float> four_lanes(const std::function<Expr(HandKernel&, uint32_t)>& value,
                              int64_t out_stride = 1, int64_t out_base = 0) {
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(8), int_lit(8)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(16)});
  h.kernel.body = {store(out, {ramp(int_lit(out_base), out_stride, 4)}, value(h, A))};
  std::vector<float> a = counted(64), o(16, 0.0F);
  call(loaded(h.kernel), {a.data(), o.data()});
  return o;
}

TEST(VectorCode, LoadsRuns) {
  const auto o = four_lanes([](HandKernel& h, uint32_t A) {
    return h.load(A, {int_lit(1), ramp(int_lit(2), 1, 4)});
  });
  EXPECT_EQ(std::vector<float>(o.begin(), o.begin() + 5), (std::vector<float>{11, 12, 13, 14, 0}));
}

TEST(VectorCode, RoundsThreeLanesToBytes) {
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(3)});
  const uint32_t out = h.buffer("out", Elem::I8, {int_lit(3)});
  const Expr three = h.load(A, {ramp(int_lit(0), 1, 3)});
  h.kernel.body = {store(out, {ramp(int_lit(0), 1, 3)}, scalar::cast(three, {Elem::I8, 3}))};
  std::vector<float> a{-5.0F, 7.0F, 100.0F};
  std::vector<int8_t> o(3, 0);
  call(loaded(h.kernel), {a.data(), o.data()});
  EXPECT_EQ(o, (std::vector<int8_t>{-5, 7, 100}));
}

/// Runs that fill no vector are stored under a mask, and what is read of them again may be in a
/// register: unless another statement has changed some of it in between.
TEST(VectorCode, ReadsAgainWhatWasStoredUnderAMask) {
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(40)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(40)});
  h.kernel.buffers[out].role = program::Role::Output;
  const uint32_t i = h.variable("i");
  const auto nine = [](int64_t first) { return ramp(int_lit(first), 1, 9); };
  const auto number = [](double value, uint16_t lanes) {
    return broadcast(scalar::float_lit(value, Type{Elem::F32, 1}), lanes);
  };
  const auto add = [&](int64_t first, double value) {
    return store(out, {nine(first)}, h.load(out, {nine(first)}) + number(value, 9));
  };
  h.kernel.body = {store(out, {nine(0)}, h.load(A, {nine(0)})),
                   store(out, {nine(9)}, h.load(A, {nine(9)})),
                   add(0, 100),
                   add(9, 200),
                   store(out, {ramp(int_lit(6), 1, 6)}, number(-1, 6)),
                   add(0, 1000),
                   add(9, 2000),
                   loop(i, int_lit(8), int_lit(10),
                        {store(out, {h.var(i)}, scalar::float_lit(7, Type{Elem::F32, 1}))}),
                   add(0, 10000),
                   add(9, 20000)};
  std::vector<float> a = counted(40), o(40, 0.0F);
  call(loaded(h.kernel), {a.data(), o.data()});
  std::vector<float> expected(40, 0.0F);
  for (size_t k = 0; k < 18; ++k) {
    const float scale = k < 9 ? 1.0F : 2.0F;
    expected[k] = k >= 6 && k < 12 ? -1.0F : a[k] + 100 * scale;
    expected[k] = (k == 8 || k == 9 ? 7.0F : expected[k] + 1000 * scale) + 10000 * scale;
  }
  EXPECT_EQ(o, expected);
}

TEST(VectorCode, LoadsReversedRuns) {
  const auto o = four_lanes([](HandKernel& h, uint32_t A) {
    return h.load(A, {int_lit(1), ramp(int_lit(5), -1, 4)});
  });
  EXPECT_EQ(std::vector<float>(o.begin(), o.begin() + 4), (std::vector<float>{14, 13, 12, 11}));
}

TEST(VectorCode, GathersStridesAndColumns) {
  const auto strided = four_lanes([](HandKernel& h, uint32_t A) {
    return h.load(A, {int_lit(0), ramp(int_lit(1), 2, 4)});
  });
  EXPECT_EQ(std::vector<float>(strided.begin(), strided.begin() + 4),
            (std::vector<float>{2, 4, 6, 8}));
  const auto column = four_lanes([](HandKernel& h, uint32_t A) {
    return h.load(A, {ramp(int_lit(0), 2, 4), broadcast(int_lit(3), 4)});
  });
  EXPECT_EQ(std::vector<float>(column.begin(), column.begin() + 4),
            (std::vector<float>{4, 20, 36, 52}));
}

/// out[4c + l] = A[row(l), 2 + c]: four columns side by side, A of 8 x 8 elements 1, 2, ...
std::vector<float> four_columns(int64_t first, int64_t step, bool writes_between) {
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(8), int_lit(8)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(16)});
  for (int64_t c = 0; c < 4; ++c) {
    h.kernel.body.push_back(store(out, {ramp(int_lit(4 * c), 1, 4)},
                                  h.load(A, {ramp(int_lit(first), step, 4), int_lit(2 + c)})));
    if (writes_between)
      h.kernel.body.push_back(
          store(A, {int_lit(first), int_lit(3 + c)}, scalar::float_lit(-1, {Elem::F32, 1})));
  }
  std::vector<float> a = counted(64), o(16, 0.0F);
  call(loaded(h.kernel), {a.data(), o.data()});
  return o;
}

TEST(VectorCode, TurnsColumnsSideBySideOver) {
  for (const auto& [first, step] : {std::pair<int64_t, int64_t>{1, 1}, {0, 2}, {7, -2}}) {
    const auto o = four_columns(first, step, false);
    for (int64_t c = 0; c < 4; ++c)
      for (int64_t l = 0; l < 4; ++l)
        EXPECT_EQ(o[static_cast<size_t>(4 * c + l)],
                  static_cast<float>(8 * (first + l * step) + 2 + c + 1));
  }
}

TEST(VectorCode, ColumnsThatAreWrittenMeanwhileAreReadInTurn) {
  const auto o = four_columns(1, 1, true);
  EXPECT_EQ(o[0], 11.0F);
  EXPECT_EQ(o[4], -1.0F);
  EXPECT_EQ(o[8], -1.0F);
  EXPECT_EQ(o[5], 20.0F);
}

TEST(VectorCode, StoresReversedAndScattered) {
  const auto value = [](HandKernel& h, uint32_t A) {
    return h.load(A, {int_lit(0), ramp(int_lit(0), 1, 4)});
  };
  const auto reversed = four_lanes(value, -1, 3);
  EXPECT_EQ(std::vector<float>(reversed.begin(), reversed.begin() + 4),
            (std::vector<float>{4, 3, 2, 1}));
  const auto scattered = four_lanes(value, 3, 1);
  EXPECT_EQ(scattered[1], 1);
  EXPECT_EQ(scattered[4], 2);
  EXPECT_EQ(scattered[10], 4);
  EXPECT_EQ(scattered[2], 0);
}

TEST(VectorCode, SelectTouchesOnlyWantedLanes) {
  // Lanes past the end of a one-element buffer must not be read: an invalid address otherwise.
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(1)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(4)});
  const Expr lane = ramp(int_lit(0), int64_t{1} << 40, 4);
  const Expr wanted = scalar::binary(scalar::BinaryOp::Lt, lane, int_lit(1, {Elem::I64, 4}));
  h.kernel.body = {
      store(out, {ramp(int_lit(0), 1, 4)},
            scalar::select(wanted, h.load(A, {lane}), scalar::float_lit(-1, {Elem::F32, 4})))};
  float a = 7;
  std::vector<float> o(4);
  call(loaded(h.kernel), {&a, o.data()});
  EXPECT_EQ(o, (std::vector<float>{7, -1, -1, -1}));
}

TEST(VectorCode, ScalarSelectReadsOnlyTheChosenSide) {
  HandKernel h;
  const Expr n = h.param("n");
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(1)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(1)});
  const Expr far = scalar::int_lit(int64_t{1} << 40) * n;
  h.kernel.body = {store(out, {int_lit(0)},
                         scalar::select(scalar::binary(scalar::BinaryOp::Lt, n, int_lit(1)),
                                        h.load(A, {far}), scalar::float_lit(-1, {Elem::F32, 1})))};
  const Executable executable = loaded(h.kernel);
  float a = 7, o = 0;
  call(executable, {&a, &o}, {0});
  EXPECT_EQ(o, 7);
  call(executable, {&a, &o}, {1});
  EXPECT_EQ(o, -1);
}

TEST(VectorCode, KernelsMayBeCalledLikeFunctions) {
  HandKernel h;
  h.kernel.name = "exp";
  const uint32_t out = h.buffer("out", Elem::F64, {int_lit(1)});
  h.kernel.body = {
      store(out, {int_lit(0)}, scalar::unary(scalar::UnaryOp::Exp, h.load(out, {int_lit(0)})))};
  double o = 1;
  call(loaded(h.kernel), {&o});
  EXPECT_NEAR(o, 2.718281828459045, 1e-15);
}

TEST(VectorCode, HorizontalReductions) {
  for (const Elem elem : {Elem::F32, Elem::F64, Elem::I32, Elem::I64})
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min}) {
      HandKernel h;
      const uint32_t A = h.buffer("A", Elem::F32, {int_lit(8)});
      const uint32_t out = h.buffer("out", Elem::F32, {int_lit(1)});
      const Expr v = scalar::cast(h.load(A, {ramp(int_lit(0), 1, 8)}), {elem, 8});
      h.kernel.body = {
          store(out, {int_lit(0)}, scalar::cast(scalar::reduce(op, v), {Elem::F32, 1}))};
      std::vector<float> a{3, 1, 2, -5, 4, 1, 2, 1};
      float o = 0;
      call(loaded(h.kernel), {a.data(), &o});
      const float want = op == ReduceOp::Sum    ? 9.0F
                         : op == ReduceOp::Prod ? -240.0F
                         : op == ReduceOp::Max  ? 4.0F
                                                : -5.0F;
      EXPECT_EQ(o, want) << scalar::name_of(op) << " of " << scalar::name_of(elem);
    }
}

TEST(VectorCode, UpdatesOfEveryKind) {
  for (const uint16_t lanes : {uint16_t{1}, uint16_t{4}})
    for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min}) {
      HandKernel h;
      const uint32_t A = h.buffer("A", Elem::F16, {int_lit(8)});
      const uint32_t i = h.variable("i");
      const Expr at = ramp(h.var(i), 1, lanes);
      h.kernel.body = {loop(i, int_lit(0), int_lit(8),
                            {store(A, {at}, scalar::float_lit(2.5, {Elem::F32, lanes}), op)},
                            lanes)};
      std::vector<uint16_t> a(8, scalar::f16_bits(2.0));
      call(loaded(h.kernel), {a.data()});
      const float want = op == ReduceOp::Sum    ? 4.5F
                         : op == ReduceOp::Prod ? 5.0F
                         : op == ReduceOp::Max  ? 2.5F
                                                : 2.0F;
      for (const uint16_t x : a)
        EXPECT_EQ(scalar::f16_value(x), want) << scalar::name_of(op);
    }
}

TEST(VectorCode, VariablesIfAndZero) {
  // sum of the even i below n, and a zeroed buffer beside it.
  HandKernel h;
  const Expr n = h.param("n");
  const uint32_t out = h.buffer("out", Elem::I64, {int_lit(1)});
  const uint32_t other = h.buffer("other", Elem::I64, {n});
  const uint32_t i = h.variable("i"), sum = h.variable("sum");
  const Expr even =
      scalar::binary(scalar::BinaryOp::Eq,
                     scalar::binary(scalar::BinaryOp::Mod, h.var(i), int_lit(2)), int_lit(0));
  const kernel::If add{even, {kernel::Assign{sum, h.var(sum) + h.var(i)}}, {}};
  h.kernel.body = {kernel::Define{sum, int_lit(0)}, loop(i, int_lit(0), n, {add}),
                   store(out, {int_lit(0)}, h.var(sum)), kernel::Zero{other}};
  int64_t o = -1;
  std::vector<int64_t> zeroed(11, 9);
  call(loaded(h.kernel), {&o, zeroed.data()}, {10});
  EXPECT_EQ(o, 20);
  EXPECT_EQ(std::accumulate(zeroed.begin(), zeroed.end(), int64_t{0}), 9);
}

/// out[i] = sum of a private copy of row i: on the stack or in scratch memory, by size.
void check_private(int64_t width, bool is_parallel) {
  HandKernel h;
  const Expr n = h.param("n");
  const Expr w = width > 0 ? int_lit(width) : h.param("w");
  const int64_t columns = width > 0 ? width : 40000;
  const uint32_t A = h.buffer("A", Elem::F64, {n, w});
  const uint32_t out = h.buffer("out", Elem::F64, {n});
  const uint32_t odd = h.buffer("odd", Elem::I8, {w}, kernel::Scope::Private);
  const uint32_t row = h.buffer("row", Elem::F64, {w}, kernel::Scope::Private);
  const uint32_t i = h.variable("i"), j = h.variable("j"), k = h.variable("k");
  const Expr one = scalar::cast(h.load(odd, {h.var(k)}), {Elem::F64, 1});
  const kernel::Block copy{store(row, {h.var(j)}, h.load(A, {h.var(i), h.var(j)})),
                           store(odd, {h.var(j)}, int_lit(1, {Elem::I32, 1}))};
  const kernel::Block body{
      store(out, {h.var(i)}, scalar::float_lit(0, {Elem::F64, 1})),
      kernel::Allocate{
          odd,
          {kernel::Allocate{
              row,
              {loop(j, int_lit(0), w, copy),
               loop(k, int_lit(0), w,
                    {store(out, {h.var(i)}, h.load(row, {h.var(k)}) * one, ReduceOp::Sum)})}}}}};
  h.kernel.body = {is_parallel ? parallel_loop(i, int_lit(0), n, body)
                               : loop(i, int_lit(0), n, body)};
  const int64_t rows = 6;
  std::vector<double> a(static_cast<size_t>(rows * columns)), o(rows);
  for (size_t x = 0; x < a.size(); ++x)
    a[x] = static_cast<double>(x % 13);
  std::vector<int64_t> params{rows};
  if (width <= 0)
    params.push_back(columns);
  call(loaded(h.kernel, std::make_shared<ThreadPool>(3)), {a.data(), o.data()}, params);
  for (int64_t r = 0; r < rows; ++r) {
    const auto begin = a.begin() + r * columns;
    EXPECT_EQ(o[static_cast<size_t>(r)], std::accumulate(begin, begin + columns, 0.0)) << r;
  }
}

TEST(VectorCode, PrivateBuffersOnTheStack) {
  check_private(33, false);
  check_private(33, true);
}

TEST(VectorCode, PrivateBuffersInScratchMemory) {
  check_private(5000, true);
  check_private(0, true);
  check_private(0, false);
}

/// C[8, 12] += A[k, 8] * B[k, 12] with the accumulators in variables, three vectors a row.
kernel::Kernel micro_kernel() {
  HandKernel h;
  const Expr n = h.param("K");
  const uint32_t A = h.buffer("A", Elem::F32, {n, int_lit(8)});
  const uint32_t B = h.buffer("B", Elem::F32, {n, int_lit(12)});
  const uint32_t C = h.buffer("C", Elem::F32, {int_lit(8), int_lit(12)});
  const uint32_t k = h.variable("k");
  kernel::Block before, inner, after;
  for (int64_t r = 0; r < 8; ++r)
    for (int64_t c = 0; c < 3; ++c) {
      const uint32_t acc = h.variable("c" + std::to_string(r) + std::to_string(c), {Elem::F32, 4});
      const std::vector<Expr> element{int_lit(r), ramp(int_lit(4 * c), 1, 4)};
      before.push_back(kernel::Define{acc, h.load(C, element)});
      const Expr a = broadcast(h.load(A, {h.var(k), int_lit(r)}), 4);
      const Expr b = h.load(B, {h.var(k), ramp(int_lit(4 * c), 1, 4)});
      inner.push_back(kernel::Assign{acc, h.var(acc) + a * b});
      after.push_back(store(C, element, h.var(acc)));
    }
  h.kernel.body = before;
  h.kernel.body.push_back(loop(k, int_lit(0), n, inner));
  h.kernel.body.insert(h.kernel.body.end(), after.begin(), after.end());
  return h.kernel;
}

TEST(VectorCode, MicroKernelIsRightAndShowsItsSpeed) {
  const int64_t depth = 256;
  const emit::LlvmUnit unit = emit::module_from_kernel(micro_kernel());
  const emit::EmitTimes times = unit.times();
  const Executable executable = loaded(micro_kernel());
  std::vector<float> a = counted(8 * depth), b = counted(12 * depth), c(96, 1.0F);
  for (float& x : a)
    x = std::fmod(x, 5.0F);
  for (float& x : b)
    x = std::fmod(x, 7.0F);
  call(executable, {a.data(), b.data(), c.data()}, {depth});
  for (size_t r = 0; r < 8; ++r)
    for (size_t col = 0; col < 12; ++col) {
      float want = 1;
      for (size_t k = 0; k < depth; ++k)
        want += a[k * 8 + r] * b[k * 12 + col];
      EXPECT_EQ(c[r * 12 + col], want);
    }
  const Timing timing = measure([&] { call(executable, {a.data(), b.data(), c.data()}, {depth}); });
  RecordProperty("gflops", std::to_string(2.0 * 96 * depth / timing.min * 1e-9));
  std::printf("8x12 f32: %.1f GFLOP/s, build %.1f ms, optimise %.1f ms, code %.1f ms\n",
              2.0 * 96 * depth / timing.min * 1e-9, times.build * 1e3, times.optimise * 1e3,
              executable.times().codegen * 1e3);
}

/// out[i, 0..31] = A[i, 0..31] + 1 in parallel, non-temporally where `out` begins with a line.
TEST(VectorCode, StreamsFromAnyAddress) {
  HandKernel h;
  const uint32_t A = h.buffer("A", Elem::F32, {int_lit(8), int_lit(32)});
  const uint32_t out = h.buffer("out", Elem::F32, {int_lit(8), int_lit(32)});
  h.kernel.buffers[out].is_streamed = true;
  const uint32_t i = h.variable("i");
  const std::vector<Expr> row{h.var(i), ramp(int_lit(0), 1, 32)};
  const Expr one = broadcast(scalar::float_lit(1, {Elem::F32, 1}), 32);
  h.kernel.body = {
      parallel_loop(i, int_lit(0), int_lit(8), {store(out, row, h.load(A, row) + one)})};
  const Executable executable = loaded(h.kernel);
  std::vector<float> a = counted(256);
  const Buffer memory(4 * (256 + 16));
  for (int64_t offset = 0; offset < 16; offset += 3) {
    float* o = memory.as<float>() + offset;
    call(executable, {a.data(), o});
    EXPECT_EQ(std::vector<float>(o, o + 256), counted(256, 2.0F)) << "at element " << offset;
  }
}

} // namespace
} // namespace kawara::run
