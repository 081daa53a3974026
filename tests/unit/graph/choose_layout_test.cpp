#include "graph/optimise/choose_layout.h"

#include "graph/optimise/min_cut.h"
#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kawara::graph::optimise {
namespace {

using namespace graph_text;
using Dimensions = std::vector<int64_t>;

/// Elements that a transposition moves.
double by_elements(const rewrite::Application& a) {
  double elements = 1;
  for (const int64_t extent : a.result->shape)
    elements *= static_cast<double>(extent);
  return a.op == "Transpose" ? elements : 0;
}

Line to_first(const std::string& result, const std::string& from) {
  return {result, "Transpose", {from}, {{"perm", Dimensions{0, 3, 1, 2}}}};
}
Line to_last(const std::string& result, const std::string& from) {
  return {result, "Transpose", {from}, {{"perm", Dimensions{0, 2, 3, 1}}}};
}
Line conv(const std::string& result, const std::string& from) {
  return {result,
          "Conv",
          {from, "w"},
          {{"kernel_shape", Dimensions{1, 1}}, {"strides", Dimensions{1, 1}}}};
}

const std::map<std::string, Shape> kChannelsLast{{"x", {1, 5, 6, 4}}};
const std::map<std::string, Tensor> kWeights{{"w", ramp({4, 4, 1, 1})}, {"b", ramp({4})}};

std::string laid_out(const Graph& graph) {
  const Layouts out = choose_layout(graph, by_elements);
  EXPECT_TRUE(spec(out.graph).empty());
  EXPECT_EQ(out.graph.outputs, graph.outputs);
  return ops_of(out.graph);
}

TEST(ChooseLayout, TakesTransposesOutBetweenConvolutions) {
  // As exported from a framework with channels last: every convolution between two transpositions.
  const Graph graph = graph_of({to_first("a", "x"),
                                conv("c1", "a"),
                                to_last("d", "c1"),
                                {"e", "Add", {"d", "b"}},
                                {"f", "Relu", {"e"}},
                                to_first("g", "f"),
                                conv("c2", "g"),
                                to_last("h", "c2"),
                                {"y", "Add", {"h", "f"}}},
                               kWeights, kChannelsLast);
  const Layouts out = choose_layout(graph, by_elements);
  EXPECT_EQ(ops_of(out.graph), "Transpose Conv Add Relu Conv Add Transpose");
  ASSERT_EQ(out.choices.size(), 1U);
  EXPECT_EQ(out.choices[0].before, 3U);
  EXPECT_EQ(out.choices[0].after, 1U);
  EXPECT_EQ(out.choices[0].moved, 3U);
  // The bias follows: one number for each channel, which comes second now.
  const Node& sum = out.graph.nodes[2];
  EXPECT_EQ(out.graph.initializers.at(sum.inputs[1]).shape(), (Shape{1, 4, 1, 1}));
}

TEST(ChooseLayout, MovesNamedDimensions) {
  const Graph graph = graph_of({to_first("a", "x"),
                                conv("c1", "a"),
                                to_last("d", "c1"),
                                conv("c2", "a"),
                                to_last("e", "c2"),
                                {"f", "Concat", {"d", "e"}, {{"axis", int64_t{-1}}}},
                                to_first("g", "f"),
                                {"y", "GlobalAveragePool", {"g"}}},
                               kWeights, kChannelsLast);
  const Graph out = choose_layout(graph, by_elements).graph;
  ASSERT_EQ(ops_of(out), "Transpose Conv Conv Concat GlobalAveragePool");
  EXPECT_EQ(std::get<int64_t>(out.nodes[3].attributes.at("axis")), 1);
}

TEST(ChooseLayout, WeighsBothSides) {
  // Two large inputs with channels last, one small convolution: what lies between stays with them.
  const Graph graph =
      graph_of({{"a", "Add", {"x", "z"}}, {"r", "Relu", {"a"}}, to_first("t", "r"), conv("y", "t")},
               kWeights, {{"x", {1, 5, 6, 4}}, {"z", {1, 5, 6, 4}}});
  EXPECT_EQ(laid_out(graph), "Add Relu Transpose Conv");
  // A sum with a broadcast row: transposing the row and the input is dearer than turning the sum
  // once.
  const Graph early =
      graph_of({to_first("t", "x"), {"r", "Relu", {"t"}}, to_last("y", "r")}, {}, kChannelsLast);
  EXPECT_EQ(laid_out(early), "Relu");
}

TEST(ChooseLayout, PrefersTheOrderOfWhatComesBefore) {
  // One transposition either way; behind the sum, so that the convolution's kernel can add.
  const Graph graph = graph_of({conv("c", "x"), to_last("t", "c"), {"y", "Add", {"t", "b"}}},
                               kWeights, {{"x", {1, 4, 5, 6}}});
  EXPECT_EQ(laid_out(graph), "Conv Add Transpose");
}

TEST(ChooseLayout, ServesBothKindsOfReadersOfOneValue) {
  // Flatten and Relu read the same transposition; one keeps it, the other does without.
  Graph graph = graph_of({conv("c", "x"),
                          to_last("t", "c"),
                          {"f", "Flatten", {"t"}},
                          {"r", "Relu", {"t"}},
                          to_first("g", "r"),
                          conv("y", "g")},
                         kWeights, {{"x", {1, 4, 5, 6}}});
  graph.outputs.push_back(graph.nodes[2].outputs[0]);
  const Graph out = choose_layout(graph, by_elements).graph;
  ASSERT_EQ(std::count_if(out.nodes.begin(), out.nodes.end(),
                          [](const Node& node) { return node.op == "Transpose"; }),
            1);
  for (const Node& node : out.nodes)
    if (node.op == "Relu") {
      EXPECT_EQ(node.inputs[0], out.nodes[0].outputs[0]);
    }
}

TEST(ChooseLayout, KeepsResultsAndWhatOthersRead) {
  Graph graph = graph_of({to_first("a", "x"),
                          conv("c", "a"),
                          to_last("d", "c"),
                          {"e", "Relu", {"d"}},
                          to_first("g", "e"),
                          conv("y", "g")},
                         kWeights, kChannelsLast);
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].name == "e")
      graph.outputs.push_back(id);
  // One transposition either way: before the Relu or after it.
  const std::string ops = laid_out(graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), 'T'), 2) << ops;
}

TEST(ChooseLayout, LeavesWhatHasTwoOrders) {
  const Graph graph = graph_of(
      {{"t", "Transpose", {"x"}, {{"perm", Dimensions{0, 2, 1}}}}, {"y", "Add", {"x", "t"}}}, {},
      {{"x", {2, 3, 3}}});
  EXPECT_EQ(laid_out(graph), "Transpose Add");
}

TEST(MinCut, FindsTheCheapestSides) {
  MinCut cut;
  const size_t a = cut.add_vertex(), b = cut.add_vertex();
  cut.add_edge(MinCut::kFirst, a, 3);
  cut.add_edge(a, b, 1);
  cut.add_edge(MinCut::kFirst, b, 1);
  cut.add_edge(b, MinCut::kSecond, 5);
  const auto is_second = cut.solve();
  EXPECT_FALSE(is_second[a]);
  EXPECT_TRUE(is_second[b]);
}

} // namespace
} // namespace kawara::graph::optimise
