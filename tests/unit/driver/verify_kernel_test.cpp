#include "driver/verify_kernel.h"

#include "driver/pipeline.h"
#include "kernel/walk.h"
#include "support/check.h"
#include "target/gpu.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

/// Every compilation stops at a kernel that is not its schedule's, and says what differs.
TEST(VerifyKernel, StopsAtStoresToOtherElements) {
  Request request;
  request.text =
      make_source("shift.kw", "param N\ninput A: f32[N]\noutput B: f32[N]\nB[i] = A[i]\n");
  Trace trace;
  const schedule::Environment environment = host_environment();
  const auto front = schedule(request, environment, trace);
  ASSERT_TRUE(front);
  kernel::Kernel kernel = optimised_kernel_of(*front, environment, trace);
  require_valid(front->schedule, kernel);
  kernel.body = kernel::rewrite(kernel.body, [](kernel::Stmt stmt) {
    if (auto* store = std::get_if<kernel::Store>(&stmt))
      store->index[0] = store->index[0] + scalar::int_lit(1);
    return kernel::block_of(std::move(stmt));
  });
  try {
    require_valid(front->schedule, kernel);
    FAIL() << kernel::print(kernel);
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("S0 stores to B[i + 1], not to B[i]"),
              std::string::npos)
        << error.what();
  }
}

/// Whatever makes a kernel has it proved, and counts what came of it; under `verify` it says how
/// far that went.
TEST(VerifyKernel, EveryWayToAKernelPassesTheProof) {
  Request request;
  request.text =
      make_source("twice.kw", "param N\ninput A: f32[N]\noutput B: f32[N]\nB[i] = 2 * A[i]\n");
  schedule::Environment gpu = host_environment();
  gpu.gpu = target::named_gpu("sm_90a");
  const auto ways = std::vector<std::function<void(const Scheduled&, Trace&)>>{
      [](const Scheduled& front, Trace& trace) {
        optimised_kernel_of(front, host_environment(), trace);
      },
      [&](const Scheduled& front, Trace& trace) { optimised_kernel_of(front, gpu, trace); },
      [](const Scheduled& front, Trace& trace) { c_of(front, {}, trace); },
      [](const Scheduled& front, Trace& trace) {
        c_of(front, {.is_naive = true, .function = ""}, trace);
      },
  };
  for (const bool verify : {false, true})
    for (size_t way = 0; way < ways.size(); ++way) {
      TraceOptions options;
      options.verify = verify;
      Trace trace(options);
      request.directives = make_source("twice.sched", way == 1 ? "auto" : "");
      const auto front = schedule(request, way == 1 ? gpu : host_environment(), trace);
      ASSERT_TRUE(front);
      ways[way](*front, trace);
      ASSERT_EQ(trace.outcomes().size(), 1U) << way;
      EXPECT_EQ(trace.outcomes().begin()->second, 1U) << way;
      if (verify) {
        EXPECT_EQ(trace.outcomes().begin()->first, "proved") << way;
      }
      EXPECT_EQ(trace.notes().size(), verify ? 3U : 0U) << way;
      if (verify) {
        EXPECT_EQ(trace.notes()[0].find("answers of the syntactic prover compared with sets: "), 0U)
            << trace.notes()[0];
      }
    }
}

/// A launch of warpgroups is not read back; under `verify` it is compared at its own size, and what
/// it stores is counted.
TEST(VerifyKernel, LaunchesOfWarpgroupsAreComparedAndCounted) {
  Request request;
  request.text = make_source("product.kw", "input A: bf16[128, 64], B: bf16[64, 64]\n"
                                           "output C: f32[128, 64]\n"
                                           "C[i, j] = sum(k, A[i, k] * B[k, j])\n");
  request.directives = make_source("product.sched", "auto");
  schedule::Environment gpu = host_environment();
  gpu.gpu = target::named_gpu("sm_90a");
  TraceOptions options;
  options.verify = true;
  Trace trace(options);
  const auto front = schedule(request, gpu, trace);
  ASSERT_TRUE(front);
  const kernel::Kernel kernel = optimised_kernel_of(*front, gpu, trace);
  ASSERT_TRUE(kernel::has_async_op(kernel.body)) << kernel::print(kernel);
  ASSERT_EQ(trace.notes().size(), 3U);
  EXPECT_EQ(trace.notes()[1], "kernel compared to its program over a finite ring at 1 size");
  EXPECT_EQ(
      trace.notes()[2],
      "kernel not read back into sets; all elements of 1 output stored once; not checked: "
      "barriers of product_0: warpgroups, the TMA and the tensor cores wait for each other "
      "by phases, which only the interpreter follows; instances, order and elements: orders of "
      "warpgroups to the tensor cores and to the TMA are not read back");
  EXPECT_EQ(trace.outcomes(), (std::map<std::string, size_t>{{"not read", 1}}));
}

/// What was not looked at is not said to be equal.
TEST(VerifyKernel, SaysHowMuchWasReadBack) {
  validate::Report report;
  report.compared = 1;
  EXPECT_EQ(note_of(report), "kernel read back into sets: equal to its schedule for all sizes; "
                             "elements of 1 access compared");
  report.pairs = 2;
  report.unchecked = {"x"};
  EXPECT_EQ(note_of(report), "kernel read back into sets: equal to its schedule for all sizes as "
                             "far as it was checked; elements of 1 access compared; 2 pairs of "
                             "threads' accesses compared that no barrier parts; not checked: x");
  report.pairs = 0;
  report.is_read = false;
  EXPECT_EQ(note_of(report), "kernel not read back into sets; not checked: x");
  EXPECT_EQ(outcome_of(report), "not read");
  report.unchecked.clear();
  EXPECT_EQ(note_of(report), "kernel not read back into sets: it has too many statements");
  EXPECT_EQ(outcome_of(report), "too large to read");
}

} // namespace
} // namespace kawara::driver
