#include "driver/verify_kernel.h"

#include "driver/pipeline.h"
#include "support/check.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

/// Every compilation stops at a kernel that is not its schedule's, and says what differs.
TEST(VerifyKernel, StopsAtStoresToOtherCells) {
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

/// What was not looked at is not said to be equal.
TEST(VerifyKernel, SaysHowMuchWasReadBack) {
  validate::Report report;
  report.compared = 1;
  EXPECT_EQ(note_of(report), "kernel read back into sets: equal to its schedule for all sizes; "
                             "cells of 1 access compared");
  report.pairs = 2;
  report.unchecked = {"x"};
  EXPECT_EQ(note_of(report), "kernel read back into sets: equal to its schedule for all sizes as "
                             "far as it was checked; cells of 1 access compared; 2 pairs of "
                             "threads' accesses compared that no barrier parts; not checked: x");
  report.pairs = 0;
  report.is_read = false;
  EXPECT_EQ(note_of(report), "kernel not read back into sets; not checked: x");
}

} // namespace
} // namespace kawara::driver
