#include "driver/request.h"
#include "driver/session.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

Parsed<program::Arrays> copied_elements(int64_t elements) {
  Request request;
  request.text = make_source("t.kw", "param N\ninput x: f32[N]\noutput y: f32[N]\ny[i] = x[i]\n");
  const auto program = program_of(request);
  EXPECT_TRUE(program);
  return kawara::driver::inputs_for(*program, {elements}, {});
}

TEST(SessionMemory, TensorsThatCannotFitAreRefusedBeforeTheyAreAllocated) {
  const auto inputs = copied_elements(int64_t{1} << 43);
  ASSERT_FALSE(inputs);
  EXPECT_EQ(inputs.error().front().code, "K0448");
  EXPECT_EQ(inputs.error().front().headline.rfind("the tensors need 70368.7 GB, and ", 0), 0U);
  EXPECT_TRUE(copied_elements(64));
}

} // namespace
} // namespace kawara::driver
