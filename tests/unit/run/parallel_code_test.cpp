#include "unit/run/hand_kernel.h"

#include "run/buffer.h"

#include <atomic>
#include <numeric>
#include <thread>

namespace kawara::run {
namespace {

using scalar::ReduceOp;

/// out[i] = scale * i + shift[i] for lo <= i < n in steps; the scale is a captured variable.
kernel::Kernel scaled(int64_t step) {
  HandKernel h;
  const Expr n = h.param("n");
  const uint32_t shift = h.buffer("shift", Elem::I64, {n});
  const uint32_t out = h.buffer("out", Elem::I64, {n});
  const uint32_t scale = h.variable("scale"), changed = h.variable("changed"), i = h.variable("i");
  h.kernel.body = {
      kernel::Define{scale, n - n + int_lit(3)}, kernel::Define{changed, int_lit(1)},
      kernel::Assign{changed, h.var(changed) + int_lit(1)},
      parallel_loop(i, int_lit(1), n,
                    {store(out, {h.var(i)},
                           h.var(scale) * h.var(i) + h.load(shift, {h.var(i)}) * h.var(changed))},
                    step)};
  return h.kernel;
}

TEST(ParallelCode, RunsEveryIterationOnce) {
  for (const int64_t step : {1, 3}) {
    const Executable executable = loaded(scaled(step), std::make_shared<ThreadPool>(4));
    for (const int64_t n : {1, 2, 3, 5, 17, 1000}) {
      std::vector<int64_t> shift(static_cast<size_t>(n), 5), out(static_cast<size_t>(n), -1);
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::fill(out.begin(), out.end(), -1);
        call(executable, {shift.data(), out.data()}, {n});
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(out[static_cast<size_t>(i)], i >= 1 && (i - 1) % step == 0 ? 3 * i + 10 : -1)
              << "i=" << i << " n=" << n << " step=" << step;
      }
    }
  }
}

TEST(ParallelCode, NumbersOfEarlierBlocksCanBeUsedAgain) {
  HandKernel h;
  const uint32_t out = h.buffer("out", Elem::I64, {int_lit(8)});
  const uint32_t i = h.variable("i"), j = h.variable("j"), x = h.variable("x");
  const auto twice = [&](uint32_t var) {
    return kernel::Block{kernel::Define{x, h.var(var) * int_lit(2)},
                         store(out, {h.var(var)}, h.var(x) + h.load(out, {h.var(var)}))};
  };
  h.kernel.body = {loop(i, int_lit(0), int_lit(8), twice(i)),
                   parallel_loop(j, int_lit(0), int_lit(8), twice(j))};
  std::vector<int64_t> o(8, 0);
  call(loaded(h.kernel, std::make_shared<ThreadPool>(2)), {o.data()});
  EXPECT_EQ(o, (std::vector<int64_t>{0, 4, 8, 12, 16, 20, 24, 28}));
}

/// A triangle through a workspace buffer: T[i, j] = i + j for j <= i, out[i] = sum of row i.
kernel::Kernel triangle() {
  HandKernel h;
  const Expr n = h.param("n");
  const uint32_t out = h.buffer("out", Elem::F64, {n});
  const uint32_t T = h.buffer("T", Elem::F64, {n, n}, kernel::Scope::Workspace);
  const uint32_t i = h.variable("i"), j = h.variable("j"), i2 = h.variable("i2"),
                 j2 = h.variable("j2");
  const auto real = [](const Expr& e) { return scalar::cast(e, {Elem::F64, 1}); };
  h.kernel.body = {
      parallel_loop(i, int_lit(0), n,
                    {loop(j, int_lit(0), h.var(i) + int_lit(1),
                          {store(T, {h.var(i), h.var(j)}, real(h.var(i) + h.var(j)))})}),
      parallel_loop(i2, int_lit(0), n,
                    {store(out, {h.var(i2)}, scalar::float_lit(0, {Elem::F64, 1})),
                     parallel_loop(j2, int_lit(0), h.var(i2) + int_lit(1),
                                   {store(out, {h.var(i2)}, h.load(T, {h.var(i2), h.var(j2)}),
                                          ReduceOp::Sum)})})};
  // The inner loop is marked for the test that a nested mark is run serially.
  return h.kernel;
}

TEST(ParallelCode, UnevenLoopsThroughWorkspace) {
  const Executable executable = loaded(triangle(), std::make_shared<ThreadPool>(3));
  for (const int64_t n : {1, 7, 64, 33}) {
    std::vector<double> out(static_cast<size_t>(n));
    call(executable, {out.data()}, {n});
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(out[static_cast<size_t>(i)], static_cast<double>((i + 1) * i + i * (i + 1) / 2));
  }
}

TEST(ParallelCode, OneExecutableFromSeveralThreads) {
  const Executable executable = loaded(triangle(), std::make_shared<ThreadPool>(2));
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int64_t c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      const int64_t n = 20 + c;
      std::vector<double> out(static_cast<size_t>(n));
      for (int repeat = 0; repeat < 100; ++repeat) {
        std::fill(out.begin(), out.end(), 0.0);
        const std::vector<void*> arguments{out.data()};
        if (!executable.call(arguments, std::vector<int64_t>{n}))
          ++wrong;
        for (int64_t i = 0; i < n; ++i)
          wrong +=
              out[static_cast<size_t>(i)] != static_cast<double>((i + 1) * i + i * (i + 1) / 2);
      }
    });
  for (std::thread& t : callers)
    t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Executable, RefusesWhatItCannotRun) {
  const Executable executable = loaded(scaled(1));
  std::vector<int64_t> elements(10);
  void* const data = elements.data();
  const auto code = [&](const std::vector<void*>& arguments, const std::vector<int64_t>& params) {
    const auto done = executable.call(arguments, params);
    return done ? std::string("fine") : done.error().code;
  };
  EXPECT_EQ(code({data, data}, {1}), "fine");
  EXPECT_EQ(code({data}, {1}), "K0440");
  EXPECT_EQ(code({data, data}, {}), "K0441");
  EXPECT_EQ(code({data, nullptr}, {1}), "K0442");
  EXPECT_EQ(code({data, reinterpret_cast<char*>(data) + 1}, {1}), "K0442");
  EXPECT_EQ(code({data, data}, {-1}), "K0443");
  EXPECT_EQ(code({data, data}, {int64_t{1} << 61}), "K0443");
}

TEST(Executable, CanBeMoved) {
  Executable first = loaded(scaled(1));
  const Executable second = std::move(first);
  EXPECT_EQ(second.signature().arguments.size(), 2U);
  std::vector<int64_t> shift(4, 0), out(4, 0);
  call(second, {shift.data(), out.data()}, {4});
  EXPECT_EQ(out, (std::vector<int64_t>{0, 3, 6, 9}));
}

TEST(Buffer, IsAlignedAndZero) {
  for (const int64_t bytes : {1, 64, 100, 5 << 20}) {
    Buffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.as<char>()[bytes - 1], 0);
    EXPECT_EQ(buffer.bytes(), bytes);
    const Buffer moved = std::move(buffer);
    EXPECT_EQ(moved.bytes(), bytes);
  }
  EXPECT_EQ(Buffer(0).data(), nullptr);
}

} // namespace
} // namespace kawara::run
