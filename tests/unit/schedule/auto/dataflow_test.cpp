#include "schedule/auto/facts/dataflow.h"

#include "unit/schedule/auto/facts.h"

namespace kawara::schedule {
namespace {

uint32_t tensor(const Schedule& schedule, const std::string& name) {
  for (uint32_t t = 0; t < schedule.scop.tensors.size(); ++t)
    if (schedule.scop.tensors[t].name == name)
      return t;
  ADD_FAILURE() << name;
  return 0;
}

constexpr const char* kLayers = R"(input X: f32[16, 16]
const W: f32[16, 16], b: f32[16]
temp V: f32[16, 16], Y: f32[16, 16]
output Z: f32[16, 16]
for i in range(16):
    for j in range(16):
        V[i, j] = W[j, i] + b[i]
for i in range(16):
    for j in range(16):
        Y[i, j] = 0
        for k in range(16):
            Y[i, j] += X[i, k] * V[k, j]
for i in range(16):
    for j in range(16):
        Z[i, j] = Y[i, j] + b[j] * b[j]
)";

TEST(Dataflow, names_who_writes_and_who_reads) {
  const Schedule schedule = initial(kLayers);
  const Dataflow flow(schedule.scop);
  using Ids = std::vector<poly::StmtId>;
  const TensorFlow& y = flow[tensor(schedule, "Y")];
  EXPECT_EQ(y.writers, (Ids{{1}, {2}}));
  EXPECT_EQ(y.readers, (Ids{{3}})) << "that the update reads its result is no use of it";
  EXPECT_EQ(flow[tensor(schedule, "b")].readers, (Ids{{0}, {3}})) << "each once";
  EXPECT_TRUE(flow.is_local_to(tensor(schedule, "Y"), {{1}, {2}, {3}}));
  EXPECT_FALSE(flow.is_local_to(tensor(schedule, "Y"), {{1}, {2}}));
}

TEST(Dataflow, constants_and_what_is_made_of_them_keep_their_values) {
  const Schedule schedule = initial(kLayers);
  const Dataflow flow(schedule.scop);
  for (const char* name : {"W", "b", "V"})
    EXPECT_TRUE(flow[tensor(schedule, name)].keeps_values) << name;
  for (const char* name : {"X", "Y", "Z"})
    EXPECT_FALSE(flow[tensor(schedule, name)].keeps_values) << name;
}

TEST(Dataflow, what_is_made_of_itself_keeps_nothing) {
  const Schedule schedule = initial(R"(const W: f32[16]
temp a: f32[16], b: f32[16]
output Z: f32[16]
for i in range(16):
    b[i] = W[i]
for t in range(4):
    for i in range(16):
        a[i] = b[i] + W[i]
    for i in range(16):
        b[i] = a[i] * W[i]
for i in range(16):
    Z[i] = b[i]
)");
  const Dataflow flow(schedule.scop);
  EXPECT_FALSE(flow[tensor(schedule, "a")].keeps_values);
  EXPECT_FALSE(flow[tensor(schedule, "b")].keeps_values);
  EXPECT_TRUE(flow[tensor(schedule, "W")].keeps_values) << "the same question, answered with yes";
}

TEST(Dataflow, a_statement_that_was_inlined_touches_nothing) {
  const Schedule start = initial(R"(input x: f32[16]
temp y: f32[16]
output z: f32[16]
for i in range(16):
    y[i] = x[i] * 2
for i in range(16):
    z[i] = y[i] + 1
)");
  const uint32_t x = tensor(start, "x"), y = tensor(start, "y");
  EXPECT_EQ(Dataflow(start.scop)[y].readers.size(), 1u);
  const auto inlined = apply(start, Inline{"S0"}, test_environment());
  ASSERT_TRUE(inlined);
  const Dataflow flow(inlined->scop);
  EXPECT_TRUE(flow[y].writers.empty() && flow[y].readers.empty());
  EXPECT_EQ(flow[x].readers, (std::vector<poly::StmtId>{{1}}));
}

} // namespace
} // namespace kawara::schedule
