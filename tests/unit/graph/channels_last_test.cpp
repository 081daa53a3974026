#include "graph/optimise/channels_last.h"

#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kawara::graph {
namespace {

Attribute list(std::vector<int64_t> values) { return Attribute(std::move(values)); }

Tensor numbered(const Shape& shape, DataType type = DataType::F32) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, static_cast<double>(k + 1));
  return tensor;
}

std::vector<std::string> operators_in(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes)
    ops.push_back(node.op);
  return ops;
}

const Node& first(const Graph& graph, const std::string& op) {
  return *std::find_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const Node& node) { return node.op == op; });
}

TEST(ChannelsLast, images_are_transposed_at_the_ends_only) {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 16, 8, 8}));
  ValueId y = b.add("Conv", "a", {x, b.constant("wa", numbered({16, 16, 3, 3}))},
                    {{"pads", list({1, 1, 1, 1})}});
  y = b.add("Relu", "r", {y});
  ValueId z = b.add("Conv", "b", {y, b.constant("wb", numbered({16, 16, 1, 1}))});
  z = b.add("Add", "s", {z, y});
  z = b.add("Add", "c", {z, b.constant("k", numbered({1, 16, 1, 1}))});
  z = b.add("MaxPool", "p", {z}, {{"kernel_shape", list({2, 2})}});
  b.output(z, DataType::F32, dims_of({1, 16, 7, 7}));
  const Graph transposed = with_channels_last(b.take());
  EXPECT_EQ(spec(transposed), std::vector<std::string>{});
  EXPECT_EQ(operators_in(transposed),
            (std::vector<std::string>{"Transpose", "ChannelsLastConv", "Relu", "ChannelsLastConv",
                                      "Add", "Add", "ChannelsLastMaxPool", "Transpose"}));
  const Tensor& weights = transposed.initializers.at(transposed.nodes[1].inputs[1]);
  EXPECT_EQ(weights.shape(), (Shape{3, 3, 16, 16})); // r, s, m, c
  EXPECT_EQ(weights.get_double(((1 * 3 + 2) * 16 + 5) * 16 + 7),
            static_cast<double>(((5 * 16 + 7) * 3 + 1) * 3 + 2 + 1));
  EXPECT_EQ(transposed.initializers.at(transposed.nodes[5].inputs[1]).shape(), (Shape{16}));
}

TEST(ChannelsLast, few_channels_become_blocks) {
  Builder b("first");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 3, 8, 8}));
  const ValueId y = b.add("Conv", "a", {x, b.constant("w", numbered({16, 3, 3, 3}))},
                          {{"strides", list({2, 2})}, {"pads", list({1, 1, 1, 1})}});
  b.output(y, DataType::F32, dims_of({1, 16, 4, 4}));
  const Graph transposed = with_channels_last(b.take());
  EXPECT_EQ(operators_in(transposed),
            (std::vector<std::string>{"ChannelsLastBlocks", "ChannelsLastConv", "Transpose"}));
  // Two rows of two blocks with 2 x 2 elements of 3 channels, filled up to 16.
  const Tensor& weights =
      transposed.initializers.at(first(transposed, "ChannelsLastConv").inputs[1]);
  EXPECT_EQ(weights.shape(), (Shape{2, 1, 16, 32}));
  // Filter 4, row 2 = block 1 line 0, column 1 = block 0 line 1, channel 2: element (0 * 2 + 1) * 3
  // + 2.
  EXPECT_EQ(weights.get_double((1 * 16 + 4) * 32 + 5),
            static_cast<double>(((4 * 3 + 2) * 3 + 2) * 3 + 1 + 1));
  EXPECT_EQ(weights.get_double(13), 0); // beyond the block's elements
}

TEST(ChannelsLast, what_has_no_such_form_sees_images_as_they_were) {
  Builder b("mixed");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 16, 8, 8}));
  ValueId y = b.add("Conv", "a", {x, b.constant("w", numbered({32, 16, 1, 1}))});
  y = b.add("Conv", "groups", {y, b.constant("g", numbered({32, 16, 1, 1}))},
            {{"group", int64_t{2}}});
  y = b.add("Softmax", "s", {y}, {{"axis", int64_t{1}}});
  b.output(y, DataType::F32, dims_of({1, 32, 8, 8}));
  EXPECT_EQ(
      operators_in(with_channels_last(b.take())),
      (std::vector<std::string>{"Transpose", "ChannelsLastConv", "Transpose", "Conv", "Softmax"}));
}

/// One convolution of narrow floats; `each` channels and filters in a group.
Graph groups_of(int64_t groups, int64_t each) {
  Builder b("groups");
  const ValueId x = b.input("x", DataType::BF16, dims_of({1, groups * each, 4, 4}));
  const ValueId y = b.add(
      "Conv", "a", {x, b.constant("w", numbered({groups * each, each, 1, 1}, DataType::BF16))},
      {{"group", groups}});
  b.output(y, DataType::BF16, dims_of({1, groups * each, 4, 4}));
  return with_channels_last(b.take());
}

TEST(ChannelsLast, groups_of_narrow_floats_fill_lines) {
  const auto weights_of = [](const Graph& graph) {
    return graph.initializers.at(first(graph, "ChannelsLastConv").inputs[1]);
  };
  // r, s, groups, m, c: whole lines of channels, or as many groups as make one.
  EXPECT_EQ(weights_of(groups_of(3, 64)).shape(), (Shape{1, 1, 3, 64, 64}));
  EXPECT_EQ(weights_of(groups_of(32, 4)).shape(), (Shape{1, 1, 2, 64, 64}));
  EXPECT_EQ(weights_of(groups_of(8, 24)).shape(), (Shape{1, 1, 192, 192}));  // a single one
  EXPECT_EQ(weights_of(groups_of(5, 40)).shape(), (Shape{1, 1, 5, 40, 40})); // none fits
  EXPECT_EQ(weights_of(groups_of(2, 120)).shape(), (Shape{1, 1, 240, 240})); // few
  EXPECT_EQ(weights_of(groups_of(13, 8)).shape(), (Shape{1, 1, 104, 104}));  // thin
  const Tensor two = weights_of(groups_of(4, 32));
  EXPECT_EQ(two.shape(), (Shape{1, 1, 2, 64, 64}));
  // Filter 3 of the second group has zeros for the first one's channels, then its own.
  const int64_t row = (0 * 64 + 32 + 3) * 64;
  EXPECT_EQ(two.get_double(row + 31), 0);
  Tensor expected(DataType::BF16, {1});
  expected.set_double(0, static_cast<double>((32 + 3) * 32 + 1));
  EXPECT_EQ(two.get_double(row + 32), expected.get_double(0));
}

/// A net of every operator that has such a form for processors.
Graph small_net() {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, dims_of({2, 3, 9, 11}));
  ValueId y = b.add("Conv", "first", {x, b.constant("wf", numbered({16, 3, 3, 3}))},
                    {{"strides", list({2, 1})}, {"pads", list({1, 1, 1, 1})}});
  y = b.add("Relu", "r", {y});
  const ValueId one = b.add("Conv", "one", {y, b.constant("wo", numbered({32, 16, 1, 1}))}, {});
  ValueId z = b.add("Conv", "each", {one, b.constant("we", numbered({32, 1, 3, 3}))},
                    {{"group", int64_t{32}}, {"pads", list({1, 1, 1, 1})}});
  z = b.add("Concat", "both", {one, z}, {{"axis", int64_t{1}}});
  z = b.add("MaxPool", "pool", {z}, {{"kernel_shape", list({2, 2})}, {"strides", list({2, 2})}});
  Tensor twice(DataType::F32, {4});
  for (int64_t k = 0; k < 4; ++k)
    twice.set_double(k, k < 2 ? 1 : 2);
  z = b.add("Resize", "twice", {z, kAbsent, b.constant("scales", twice)},
            {{"mode", std::string("nearest")}});
  ValueId mean = b.add("GlobalAveragePool", "mean", {z});
  mean = b.add("Conv", "gate", {mean, b.constant("wg", numbered({64, 64, 1, 1}))});
  z = b.add("Mul", "gated", {z, b.add("Sigmoid", "open", {mean})});
  b.output(z, DataType::F32, dims_of({2, 64, 4, 10}));
  return b.take();
}

TEST(ChannelsLast, processors_keep_weights_and_pad_images) {
  const ChannelsLastEffect effect = try_channels_last(small_net(), ChannelsLastForm::Padded);
  EXPECT_EQ(spec(effect.graph), std::vector<std::string>{});
  EXPECT_EQ(operators_in(effect.graph),
            (std::vector<std::string>{"ChannelsLastPaddedConv", "Relu", "ChannelsLastPaddedConv",
                                      "ChannelsLastPaddedDepthwise", "Concat",
                                      "ChannelsLastPaddedMaxPool", "Resize",
                                      "ChannelsLastGlobalAveragePool", "Transpose",
                                      "ChannelsLastPaddedConv", "Sigmoid", "Mul", "Transpose"}));
  EXPECT_EQ(effect.convolutions, 4);
  EXPECT_EQ(effect.transpositions, 1) << "the result; an image of one element costs nothing";
  const Node& stem = effect.graph.nodes.front();
  EXPECT_EQ(std::get<int64_t>(stem.attributes.at("channels_first")), 1);
  EXPECT_EQ(effect.graph.initializers.at(stem.inputs[1]).shape(), (Shape{16, 3, 3, 3}));
  const Node& twice = first(effect.graph, "Resize");
  EXPECT_EQ(effect.graph.initializers.at(twice.inputs[2]).get_double(1), 2);
  EXPECT_EQ(effect.graph.initializers.at(twice.inputs[2]).get_double(3), 1);
}

TEST(ChannelsLast, images_are_transposed_for_what_has_no_such_form) {
  Builder b("mixed");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 32, 8, 8}));
  ValueId y = b.add("Conv", "a", {x, b.constant("w", numbered({32, 32, 1, 1}))});
  y = b.add("Softmax", "s", {y}, {{"axis", int64_t{1}}});
  b.output(y, DataType::F32, dims_of({1, 32, 8, 8}));
  const ChannelsLastEffect effect = try_channels_last(b.take(), ChannelsLastForm::Padded);
  EXPECT_EQ(effect.convolutions, 1);
  EXPECT_EQ(effect.transpositions, 2);
}

} // namespace
} // namespace kawara::graph
