#include "emit/unit.h"

#include <gtest/gtest.h>

namespace kawara::emit {
namespace {

/// At sizes at which the loops around a copy do not run, it has no elements; an argument must have
/// its shape.
TEST(Signature, ACopyForLoopsThatDoNotRunHasNoElements) {
  BufferInfo buffer;
  buffer.name = "C_packed";
  buffer.elem = scalar::Elem::F32;
  buffer.shape = {scalar::int_lit(2), scalar::param(0) - scalar::int_lit(2)};
  const std::vector<int64_t> one{1}, five{5};
  EXPECT_EQ(own_bytes_of(buffer, one), 0);
  EXPECT_EQ(bytes_of(buffer, one), std::nullopt);
  EXPECT_EQ(own_bytes_of(buffer, five), 24);
  EXPECT_EQ(bytes_of(buffer, five), 24);
  EXPECT_TRUE(layout_of({buffer}, one));
}

} // namespace
} // namespace kawara::emit
