#include "unit/run/hand_kernel.h"

#include "kernel/memory/prepare.h"

#include <thread>

namespace kawara::run {
namespace {

constexpr int64_t kElements = 8;

/// doubled[i] = 2 * W[i] through a workspace; out[i] = doubled[i] + x[i]. W is a constant.
kernel::Kernel with_weights() {
  HandKernel h;
  const uint32_t W = h.buffer("W", Elem::I64, {int_lit(kElements)});
  const uint32_t x = h.buffer("x", Elem::I64, {int_lit(kElements)});
  const uint32_t out = h.buffer("out", Elem::I64, {int_lit(kElements)});
  const uint32_t doubled =
      h.buffer("doubled", Elem::I64, {int_lit(kElements)}, kernel::Scope::Workspace);
  const uint32_t i = h.variable("i");
  h.kernel.buffers[W].is_constant = true;
  h.kernel.body = {
      loop(i, int_lit(0), int_lit(kElements), {store(out, {h.var(i)}, h.load(x, {h.var(i)}))}),
      loop(i, int_lit(0), int_lit(kElements),
           {store(doubled, {h.var(i)}, h.load(W, {h.var(i)}) * int_lit(2))}),
      loop(i, int_lit(0), int_lit(kElements),
           {store(out, {h.var(i)}, h.load(doubled, {h.var(i)}), scalar::ReduceOp::Sum)})};
  return h.kernel;
}

TEST(Constants, WhatDependsOnThemAloneComesFirst) {
  const kernel::Kernel kernel = kernel::prepare(with_weights());
  EXPECT_EQ(kernel.prepared, 1u);
  ASSERT_EQ(kernel.body.size(), 3u);
  EXPECT_EQ(std::get<kernel::Store>(std::get<kernel::For>(kernel.body[0]).body[0]).buffer, 3u);
}

TEST(Constants, NothingIsPreparedFromOtherInputs) {
  kernel::Kernel kernel = with_weights();
  kernel.buffers[0].is_constant = false;
  EXPECT_EQ(kernel::prepare(std::move(kernel)).prepared, 0u);
}

TEST(Constants, AWorkspaceThatIsWrittenAgainIsNotKept) {
  kernel::Kernel kernel = with_weights();
  kernel.body.push_back(kernel.body[1]);
  EXPECT_EQ(kernel::prepare(std::move(kernel)).prepared, 0u);
}

/// The loop over `doubled`, from its element `lo` on; the one of `kernel` ends there.
kernel::Stmt rest_of_doubled(kernel::Kernel& kernel, int64_t lo) {
  kernel::Stmt rest = kernel.body[1];
  std::get<kernel::For>(kernel.body[1]).hi = scalar::int_lit(lo);
  std::get<kernel::For>(rest).lo = scalar::int_lit(lo);
  return rest;
}

TEST(Constants, ALoopAndItsRemainderArePreparedTogether) {
  kernel::Kernel kernel = with_weights();
  kernel.body.insert(kernel.body.begin() + 2, rest_of_doubled(kernel, 5));
  kernel = kernel::prepare(std::move(kernel));
  EXPECT_EQ(kernel.prepared, 2u);
  std::vector<int64_t> W(kElements, 10), x(kElements, 1), out(kElements);
  call(loaded(kernel), {W.data(), x.data(), out.data()});
  EXPECT_EQ(out, std::vector<int64_t>(kElements, 21));
}

TEST(Constants, ARemainderThatReadsOtherInputsKeepsTheWholeFromBeingPrepared) {
  kernel::Kernel kernel = with_weights();
  auto rest = std::get<kernel::For>(rest_of_doubled(kernel, 5));
  std::get<kernel::Store>(rest.body[0]).value =
      std::get<kernel::Store>(std::get<kernel::For>(kernel.body[0]).body[0]).value;
  kernel.body.insert(kernel.body.begin() + 2, std::move(rest));
  EXPECT_EQ(kernel::prepare(std::move(kernel)).prepared, 0u);
}

TEST(Constants, AreReadAgainOnlyWhenTheArrayIsAnother) {
  const Executable executable = loaded(kernel::prepare(with_weights()));
  std::vector<int64_t> W(kElements, 10), x(kElements, 1), out(kElements);
  const auto result = [&](std::vector<int64_t>& weights) {
    call(executable, {weights.data(), x.data(), out.data()});
    return out;
  };
  EXPECT_EQ(result(W), std::vector<int64_t>(kElements, 21));
  std::fill(W.begin(), W.end(), 20);
  x.assign(kElements, 2);
  EXPECT_EQ(result(W), std::vector<int64_t>(kElements, 22))
      << "the values of the first call are kept";
  executable.forget_constants();
  EXPECT_EQ(result(W), std::vector<int64_t>(kElements, 42));
  std::vector<int64_t> other(kElements, 30);
  EXPECT_EQ(result(other), std::vector<int64_t>(kElements, 62));
  EXPECT_EQ(result(W), std::vector<int64_t>(kElements, 42));
}

TEST(Constants, CallsShareWhatIsPreparedAndNothingElse) {
  const Executable executable = loaded(kernel::prepare(with_weights()));
  std::vector<int64_t> W(kElements, 10);
  std::vector<std::thread> callers;
  std::vector<int64_t> wrong(4);
  for (size_t caller = 0; caller < wrong.size(); ++caller)
    callers.emplace_back([&, caller] {
      for (int64_t turn = 0; turn < 1000; ++turn) {
        const int64_t own = turn * 4 + static_cast<int64_t>(caller);
        std::vector<int64_t> x(kElements, own), out(kElements);
        call(executable, {W.data(), x.data(), out.data()});
        wrong[caller] += out == std::vector<int64_t>(kElements, own + 20) ? 0 : 1;
      }
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(wrong, std::vector<int64_t>(wrong.size(), 0));
}

TEST(Constants, WhatIsSharedRefusesTheSameArguments) {
  const Executable executable = loaded(kernel::prepare(with_weights()));
  std::vector<int64_t> W(kElements, 10), x(kElements, 1), out(kElements);
  for (int turn = 0; turn < 3; ++turn) {
    call(executable, {W.data(), x.data(), out.data()});
    const auto code = [&](std::vector<void*> arguments) {
      const auto done = executable.call(arguments, {});
      return done ? "none" : done.error().code;
    };
    EXPECT_EQ(code({W.data(), x.data()}), "K0440");
    EXPECT_EQ(code({W.data(), nullptr, out.data()}), "K0442");
    EXPECT_EQ(code({W.data(), reinterpret_cast<char*>(x.data()) + 1, out.data()}), "K0442");
  }
}

} // namespace
} // namespace kawara::run
