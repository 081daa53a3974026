#include "driver/model/model.h"
#include "driver/plan/plan_memory.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::dims_of;

/// Rows of softmax, one after the other, and their sum with the first: that one lives longest.
graph::Graph chain(int length) {
  Builder b("chain");
  auto x = b.add("Softmax", "first", {b.input("x", DataType::F32, dims_of({8, 16}))});
  const auto first = x;
  for (int k = 0; k < length; ++k)
    x = b.add("Softmax", "s" + std::to_string(k), {x});
  const auto sum = b.add("Add", "sum", {x, first});
  b.output(b.add("Softmax", "y", {sum}), DataType::F32, dims_of({8, 16}));
  return b.take();
}

TEST(Lifetimes, OfOneMomentDoNotMeetAndStayInTheBlock) {
  Model model(chain(5));
  const auto plans = model.plan(model.pattern_inputs({}), false);
  ASSERT_TRUE(plans);
  const Plan& plan = *plans->front();
  const auto all = lifetimes(model.graph(), plan);
  ASSERT_GE(all.size(), 6U);
  int64_t most = 0;
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    int64_t live = 0;
    for (const Lifetime& each : all)
      if (each.first <= step && step <= each.last)
        live += each.bytes;
    EXPECT_EQ(live, memory_use(model.graph(), plan).bytes_at[step]) << step;
    most = std::max(most, live);
  }
  EXPECT_LE(most, plan.block_bytes);
  for (const Lifetime& a : all)
    for (const Lifetime& b : all) {
      EXPECT_LE(a.offset + a.bytes, plan.block_bytes);
      const bool at_once = a.first <= b.last && b.first <= a.last;
      const bool meet = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      EXPECT_FALSE(a.value != b.value && at_once && meet);
    }
}

} // namespace
} // namespace kawara::driver
