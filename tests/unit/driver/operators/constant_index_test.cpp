#include "driver/tape/launches.h"

#include "unit/driver/one_node.h"

namespace kawara::driver {
namespace {

using namespace one_node;

/// The model of the case with its second input as a constant.
graph::Graph with_constant_index(const Case& c) {
  graph::Graph graph = graph_of(c);
  graph.initializers[graph.inputs[1]] = c.inputs[1];
  graph.inputs.pop_back();
  return graph;
}

/// Results with the indices given and constant are the same; how many functions the latter calls.
int64_t calls_with(const Shape& shape, const Tensor& indices, int64_t axis) {
  const Case c{"Gather", {{"axis", axis}}, {varied(shape, 3), indices}};
  const std::vector<Tensor> expected = run(c);
  Model model(with_constant_index(c));
  const std::map<std::string, run::Datum> inputs{{"x0", {c.inputs[0], false, {}}}};
  const auto results = model.run(inputs);
  EXPECT_TRUE(results) << (results ? "" : render(results.error()));
  if (!results)
    return -1;
  EXPECT_EQ((*results)[0].tensor.shape(), expected[0].shape());
  EXPECT_EQ(elements_of((*results)[0].tensor), elements_of(expected[0]));
  const auto tape = model.tape_of_programs(inputs);
  EXPECT_TRUE(tape);
  return launches_of(*tape).calls;
}

TEST(ConstantIndex, IsASliceWhereIndicesFollowEachOther) {
  const auto one = [](int64_t index) { return integers({index}).with_shape({}); };
  const Shape shape{3, 5, 4};
  for (const int64_t axis : {0, 1, 2, -1, -2})
    for (const int64_t index : {0, 1, 2, -1, -3})
      EXPECT_EQ(calls_with(shape, one(index), axis), 0);
  EXPECT_EQ(calls_with(shape, integers({1, 2, 3}), 1), 0);
  EXPECT_EQ(calls_with(shape, integers({0, 2, 4}), 1), 0);
  EXPECT_EQ(calls_with(shape, integers({4, 3, 2, 1, 0}), 1), 0);
  EXPECT_EQ(calls_with(shape, integers({0, 1, 2, 3, 4}), 1), 0);
  EXPECT_EQ(calls_with(shape, integers({-2, -1}), 0), 0);
  EXPECT_EQ(calls_with(shape, integers({2, 3}), 2), 0); // the second of two parts
  EXPECT_EQ(calls_with(shape, integers({0, 1, 2, 3}).with_shape({2, 2}), 1), 0);
  EXPECT_EQ(calls_with({7}, one(-2), 0), 0);
}

TEST(ConstantIndex, RepeatsTheOneOfADimension) {
  EXPECT_EQ(calls_with({1, 5, 4}, integers({0, 0, -1}), 0), 0);
  EXPECT_EQ(calls_with({3, 1, 4}, integers({-1, 0}), 1), 0);
  EXPECT_EQ(calls_with({5, 1}, integers({0, 0, 0}), 1), 0);
  EXPECT_EQ(calls_with({1}, integers({0, 0}), 0), 0);
}

TEST(ConstantIndex, IsLookedUpElsewhere) {
  EXPECT_EQ(calls_with({3, 5, 4}, integers({0, 1, 3}), 1), 1);
  EXPECT_EQ(calls_with({3, 5, 4}, integers({2, 2}), 1), 0); // a distance of 0 is one, too
  EXPECT_EQ(calls_with({3, 5, 4}, integers({1, -1, 0}), 1), 1);
}

TEST(ConstantIndex, IsRefusedOutside) {
  const Case c{"Gather", {{"axis", int64_t{1}}}, {varied({3, 5}, 1), integers({5}).with_shape({})}};
  Model model(with_constant_index(c));
  EXPECT_FALSE(model.run({{"x0", {c.inputs[0], false, {}}}}));
}

TEST(Slices, SeePartsOfOneSize) {
  const Tensor x = varied({4, 6, 10}, 5);
  for (const auto& [start, end, axis] :
       {std::tuple{2, 4, 0}, {0, 1, 0}, {3, 6, 1}, {4, 6, 1}, {1, 4, 1}, {5, 10, 2}, {9, 10, 2}}) {
    const auto at = [](int64_t value) { return integers({value}); };
    const Tensor got = run({"Slice", {}, {x, at(start), at(end), at(axis)}})[0];
    std::vector<double> expected;
    for (int64_t k = 0; k < x.elements(); ++k) {
      const int64_t places[] = {k / 60, k / 10 % 6, k % 10};
      if (places[axis] >= start && places[axis] < end)
        expected.push_back(x.get_double(k));
    }
    EXPECT_EQ(elements_of(got), expected);
  }
  const std::vector<Tensor> parts = run({"Split", {{"axis", int64_t{2}}}, {x}, 13, 5});
  ASSERT_EQ(parts.size(), 5U);
  for (int64_t k = 0; k < 5; ++k)
    for (int64_t i = 0; i < 48; ++i)
      EXPECT_EQ(parts[static_cast<size_t>(k)].get_double(i),
                x.get_double(i / 2 * 10 + k * 2 + i % 2));
}

TEST(Launches, CountWhatOnlyMoves) {
  const auto launches = [](const Case& c) {
    Model model(graph_of(c));
    const auto tape = model.tape_of_programs({{"x0", {c.inputs[0], false, {}}}});
    EXPECT_TRUE(tape);
    return launches_of(*tape);
  };
  const Tensor x = varied({8, 16}, 1);
  const Launches moved = launches({"Transpose", {}, {x}});
  EXPECT_EQ(moved.steps, 1);
  EXPECT_EQ(moved.movements, 1);
  EXPECT_EQ(moved.moved_bytes, 2 * 8 * 16 * 4);
  const Launches computed = launches({"Relu", {}, {x}});
  EXPECT_EQ(computed.steps, 1);
  EXPECT_EQ(computed.movements, 0);
  EXPECT_EQ(computed.bytes, 2 * 8 * 16 * 4);
}

} // namespace
} // namespace kawara::driver
