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

} // namespace
} // namespace kawara::driver
