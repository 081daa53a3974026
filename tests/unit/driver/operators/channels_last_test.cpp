// Images with channels last, in the form for processors, against the order that is written.

#include "driver/model/model.h"
#include "driver/model/rewriting.h"
#include "graph/optimise/channels_last.h"

#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using namespace graph::graph_text;

graph::Attribute list_of(std::vector<int64_t> values) { return values; }

/// Node by node, as written, and everything fused with channels last. Says how many convolutions
/// have them last.
int64_t agrees_with_channels_last(const graph::Graph& graph) {
  graph::ChannelsLastEffect effect =
      graph::try_channels_last(graph, graph::ChannelsLastForm::Padded);
  ModelOptions as_written;
  as_written.images = ImageOrder::Written;
  Model plain(graph, ModelOptions{false, false, "", nullptr}),
      last(std::move(effect.graph), as_written);
  const auto inputs = plain.pattern_inputs({});
  const auto wanted = plain.run(inputs), got = last.run(inputs);
  EXPECT_TRUE(static_cast<bool>(wanted)) << render({wanted.error()});
  EXPECT_TRUE(static_cast<bool>(got)) << render({got.error()});
  if (!wanted || !got)
    return 0;
  for (size_t k = 0; k < wanted->size(); ++k) {
    const graph::Tensor &a = (*wanted)[k].tensor, &b = (*got)[k].tensor;
    EXPECT_EQ(a.shape(), b.shape());
    double largest = 1, worst = 0;
    for (int64_t at = 0; at < a.elements(); ++at) {
      largest = std::max(largest, std::abs(a.get_double(at)));
      worst = std::max(worst, std::abs(a.get_double(at) - b.get_double(at)));
    }
    EXPECT_LE(worst, 1e-5 * largest);
  }
  return effect.convolutions;
}

/// Two images of 20 channels under one convolution, which a second one reads, and a bias.
graph::Graph two_convolutions(const graph::Shape& weights, graph::Attributes how) {
  return graph_of({{"a", "Conv", {"x", "w", "b"}, std::move(how)},
                   {"c", "Relu", {"a"}},
                   {"y", "Conv", {"c", "v"}}},
                  {{"w", ramp(weights, 0.125)},
                   {"b", ramp({weights[0]}, -0.5)},
                   {"v", ramp({17, weights[0], 1, 1}, 0.0625)}},
                  {{"x", {2, 20, 9, 7}}});
}

TEST(ChannelsLastModel, WindowsMeanTheSame) {
  EXPECT_EQ(agrees_with_channels_last(two_convolutions({24, 20, 1, 1}, {})), 2);
  EXPECT_EQ(
      agrees_with_channels_last(two_convolutions({24, 20, 1, 1}, {{"strides", list_of({2, 2})}})),
      2);
  EXPECT_EQ(agrees_with_channels_last(
                two_convolutions({16, 20, 3, 3}, {{"pads", list_of({1, 1, 1, 1})}})),
            2);
  EXPECT_EQ(agrees_with_channels_last(two_convolutions(
                {33, 20, 3, 2}, {{"pads", list_of({0, 1, 2, 0})}, {"strides", list_of({2, 1})}})),
            2);
  EXPECT_EQ(agrees_with_channels_last(two_convolutions(
                {16, 20, 3, 3}, {{"dilations", list_of({2, 1})}, {"pads", list_of({2, 0, 2, 1})}})),
            2);
  EXPECT_EQ(agrees_with_channels_last(
                two_convolutions({16, 20, 5, 1}, {{"auto_pad", std::string("SAME_UPPER")}})),
            2);
}

TEST(ChannelsLastModel, ImagesOfFewChannelsAreReadAsTheyAre) {
  EXPECT_EQ(agrees_with_channels_last(
                graph_of({{"a",
                           "Conv",
                           {"x", "w"},
                           {{"strides", list_of({2, 2})}, {"pads", list_of({3, 3, 3, 3})}}},
                          {"c", "Relu", {"a"}},
                          {"y",
                           "MaxPool",
                           {"c"},
                           {{"kernel_shape", list_of({3, 3})},
                            {"strides", list_of({2, 2})},
                            {"pads", list_of({1, 1, 1, 1})}}}},
                         {{"w", ramp({16, 3, 7, 7}, 0.0625)}}, {{"x", {1, 3, 21, 17}}})),
            1);
}

TEST(ChannelsLastModel, SingleChannelsPoolsAndJoinsMeanTheSame) {
  const auto net = [](int64_t window, int64_t stride, int64_t pooled, int64_t ceiling) {
    const int64_t pad = window / 2;
    return graph_of({{"a", "Conv", {"x", "w"}},
                     {"b",
                      "Conv",
                      {"a", "d", "e"},
                      {{"group", int64_t{48}},
                       {"strides", list_of({stride, stride})},
                       {"pads", list_of({pad, pad, pad, pad})}}},
                     {"c", "HardSwish", {"b"}},
                     {"s", "Concat", {"c", "b"}, {{"axis", int64_t{1}}}},
                     {"p",
                      "MaxPool",
                      {"s"},
                      {{"kernel_shape", list_of({pooled, pooled})},
                       {"strides", list_of({2, 1})},
                       {"ceil_mode", ceiling}}},
                     {"m", "GlobalAveragePool", {"p"}},
                     {"g", "Conv", {"m", "v"}},
                     {"h", "HardSigmoid", {"g"}},
                     {"y", "Mul", {"p", "h"}}},
                    {{"w", ramp({48, 16, 1, 1}, 0.0625)},
                     {"d", ramp({48, 1, window, window}, 0.125)},
                     {"e", ramp({48}, -0.25)},
                     {"v", ramp({96, 96, 1, 1}, 0.03125)}},
                    {{"x", {1, 16, 19, 14}}});
  };
  EXPECT_EQ(agrees_with_channels_last(net(3, 1, 2, 0)), 3);
  EXPECT_EQ(agrees_with_channels_last(net(3, 2, 3, 1)), 3);
  EXPECT_EQ(agrees_with_channels_last(net(5, 1, 9, 0)), 3);
}

TEST(ChannelsLastModel, IsTakenWhereFewImagesAreTransposedOver) {
  target::Cpu wide = *target::named_cpu("sapphirerapids");
  const auto taken = [&](const target::Cpu& cpu, const graph::Graph& graph) {
    graph::optimise::Optimised made{graph, {}, {}};
    choose_image_order(made, cpu);
    return std::any_of(made.graph.nodes.begin(), made.graph.nodes.end(),
                       [](const auto& node) { return node.op == "ChannelsLastPaddedConv"; });
  };
  std::vector<Line> lines{{"a0", "Conv", {"x", "f"}}};
  for (int k = 0; k < 5; ++k)
    lines.push_back({"a" + std::to_string(k + 1), "Conv", {"a" + std::to_string(k), "w"}});
  const std::map<std::string, graph::Tensor> weights{{"f", ramp({16, 3, 1, 1})},
                                                     {"w", ramp({16, 16, 1, 1})}};
  const graph::Graph deep = graph_of(lines, weights, {{"x", {1, 3, 8, 8}}});
  EXPECT_TRUE(taken(wide, deep)) << "six convolutions, one image";
  EXPECT_FALSE(taken(*target::named_cpu("neoverse-n1"), deep));
  lines.resize(3);
  EXPECT_FALSE(taken(wide, graph_of(lines, weights, {{"x", {1, 3, 8, 8}}})));
}

} // namespace
} // namespace kawara::driver
