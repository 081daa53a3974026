#include "graph/optimise/attention/recognise_attention.h"

#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace kawara::graph::optimise {
namespace {

using namespace graph_text;
using Order = std::vector<int64_t>;

Attribute order(Order values) { return values; }

/// As many as nodes.
double one_each(const rewrite::Application&) { return 1; }

std::string recognised(const Graph& graph, AttentionUse use = AttentionUse::ByCost) {
  const Attentions out = recognise_attention(graph, use, one_each);
  EXPECT_TRUE(spec(out.graph).empty());
  EXPECT_EQ(out.graph.outputs, graph.outputs);
  return ops_of(out.graph);
}

Tensor list_of(const Order& values) {
  Tensor tensor(DataType::I64, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

/// 0 up to the diagonal, `hidden` above it; in as many matrices as `outer` says.
Tensor triangle(int64_t rows, double hidden, DataType type = DataType::F32, double shown = 0,
                Shape outer = {}) {
  outer.insert(outer.end(), {rows, rows});
  Tensor tensor(type, outer);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, k % rows > k / rows % rows ? hidden : shown);
  return tensor;
}

/// The last rows see two keys, the first one as many as there are.
Tensor band(int64_t rows, bool hides_all_of_first) {
  Tensor tensor(DataType::F32, {1, 1, rows, rows});
  for (int64_t k = 0; k < rows * rows; ++k) {
    const int64_t back = k / rows - k % rows;
    const bool is_seen = (back == 0 || back == 1) && !(hides_all_of_first && k / rows == 0);
    tensor.set_double(k, is_seen ? 0 : -std::numeric_limits<double>::infinity());
  }
  return tensor;
}

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Heads apart: queries, keys and values are inputs of four dimensions.
struct HeadsApart {
  std::vector<Line> masked = {}; ///< from "s" to "m"
  std::map<std::string, Tensor> constants = {};
  std::map<std::string, Shape> more = {};

  Graph graph() const {
    std::vector<Line> lines{{"t", "Transpose", {"k"}, {{"perm", order({0, 1, 3, 2})}}},
                            {"p", "MatMul", {"q", "t"}},
                            {"s", "Div", {"p", "eight"}}};
    lines.insert(lines.end(), masked.begin(), masked.end());
    lines.push_back({"w", "Softmax", {masked.empty() ? "s" : "m"}, {{"axis", int64_t{-1}}}});
    lines.push_back({"y", "MatMul", {"w", "v"}});
    std::map<std::string, Tensor> all = constants;
    all["eight"] = number(8);
    std::map<std::string, Shape> inputs = more;
    inputs["q"] = {2, 3, 4, 8};
    inputs["k"] = {2, 3, 4, 8};
    inputs["v"] = {2, 3, 4, 6};
    return graph_of(lines, all, inputs);
  }
};

TEST(RecogniseAttention, FindsHeadsApart) {
  const Graph graph = HeadsApart{}.graph();
  const Attentions out = recognise_attention(graph, AttentionUse::ByCost, one_each);
  ASSERT_EQ(ops_of(out.graph), "Attention");
  const Node& node = out.graph.nodes[0];
  EXPECT_EQ(std::get<double>(node.attributes.at("scale")), 0.125);
  EXPECT_EQ(node.attributes.count("is_causal"), 0U);
  EXPECT_EQ(node.inputs.size(), 3U);
  ASSERT_EQ(out.choices.size(), 1U);
  EXPECT_TRUE(out.choices[0].is_taken);
  EXPECT_EQ(out.choices[0].apart, 5);
  EXPECT_EQ(out.choices[0].whole, 1);
}

TEST(RecogniseAttention, LooksAtTheCostAndAtWhatIsAsked) {
  const Graph graph = HeadsApart{}.graph();
  const auto dear = [](const rewrite::Application& a) { return a.op == "Attention" ? 10.0 : 1.0; };
  EXPECT_EQ(ops_of(recognise_attention(graph, AttentionUse::ByCost, dear).graph),
            "Transpose MatMul Div Softmax MatMul");
  EXPECT_EQ(ops_of(recognise_attention(graph, AttentionUse::Always, dear).graph), "Attention");
  EXPECT_EQ(recognised(graph, AttentionUse::Never), "Transpose MatMul Div Softmax MatMul");
}

TEST(RecogniseAttention, TakesMasks) {
  HeadsApart sum{{{"m", "Add", {"s", "mask"}}}, {}, {{"mask", {2, 1, 1, 4}}}};
  const Graph added = recognise_attention(sum.graph(), AttentionUse::ByCost, one_each).graph;
  ASSERT_EQ(ops_of(added), "Attention");
  EXPECT_EQ(added.nodes[0].inputs.size(), 4U);
  // A mask for one more dimension makes the result larger.
  HeadsApart larger{{{"m", "Add", {"s", "mask"}}}, {}, {{"mask", {5, 2, 1, 1, 4}}}};
  EXPECT_EQ(recognised(larger.graph()), "Transpose MatMul Div Add Softmax MatMul");
  // What is scaled after the mask is another mask.
  HeadsApart late{
      {{"a", "Add", {"s", "mask"}}, {"m", "Mul", {"a", "eight"}}}, {}, {{"mask", {2, 1, 1, 4}}}};
  EXPECT_EQ(recognised(late.graph()), "Transpose MatMul Div Add Mul Softmax MatMul");
}

TEST(RecogniseAttention, KnowsCausalMasks) {
  const auto is_causal = [](const HeadsApart& apart) {
    const Graph out = recognise_attention(apart.graph(), AttentionUse::ByCost, one_each).graph;
    EXPECT_EQ(ops_of(out), "Attention");
    return out.nodes[0].attributes.count("is_causal") > 0 && out.nodes[0].inputs.size() == 3;
  };
  const std::vector<Line> sum{{"m", "Add", {"s", "mask"}}};
  EXPECT_TRUE(is_causal({sum, {{"mask", triangle(4, -kInfinite)}}}));
  EXPECT_TRUE(is_causal({sum, {{"mask", triangle(4, -3e38)}}}));
  EXPECT_FALSE(is_causal({sum, {{"mask", triangle(4, -1e4)}}})); // a weight of nearly 0
  // Once for each batch, as constant folding leaves it; one batch may differ.
  Tensor each = triangle(4, -kInfinite, DataType::F32, 0, {2, 1});
  EXPECT_TRUE(is_causal({sum, {{"mask", each}}}));
  each.set_double(16 + 3, 0);
  EXPECT_FALSE(is_causal({sum, {{"mask", each}}}));
  const std::vector<Line> choice{{"m", "Where", {"mask", "s", "low"}}},
      inverted{{"m", "Where", {"mask", "low", "s"}}};
  EXPECT_TRUE(is_causal(
      {choice, {{"mask", triangle(4, 0, DataType::Bool, 1)}, {"low", number(-kInfinite)}}}));
  EXPECT_TRUE(
      is_causal({inverted, {{"mask", triangle(4, 1, DataType::Bool, 0)}, {"low", number(-3e38)}}}));
}

TEST(RecogniseAttention, TakesChoicesThatHideAndNoOthers) {
  const std::vector<Line> choice{{"c", "Less", {"x", "zero"}}, {"m", "Where", {"c", "s", "low"}}};
  const HeadsApart hidden{
      choice, {{"zero", number(0)}, {"low", number(-3e38)}}, {{"x", {2, 1, 1, 4}}}};
  EXPECT_EQ(recognised(hidden.graph()), "Less Where Attention");
  // A row without any key is spread evenly by softmax, and by nothing else.
  HeadsApart shallow = hidden;
  shallow.constants["low"] = number(-1e4);
  EXPECT_EQ(recognised(shallow.graph()), "Transpose MatMul Div Less Where Softmax MatMul");
}

TEST(RecogniseAttention, LeavesWhatOthersRead) {
  Graph graph = HeadsApart{}.graph();
  graph.outputs.push_back(graph.nodes[3].outputs[0]); // the weights
  EXPECT_EQ(recognised(graph), "Transpose MatMul Div Softmax MatMul");
}

TEST(RecogniseAttention, TakesThreeDimensions) {
  const Graph graph = graph_of({{"p", "MatMul", {"q", "t"}},
                                {"w", "Softmax", {"p"}, {{"axis", int64_t{2}}}},
                                {"y", "MatMul", {"w", "v"}}},
                               {}, {{"q", {6, 4, 8}}, {"t", {6, 8, 5}}, {"v", {6, 5, 8}}});
  EXPECT_EQ(recognised(graph, AttentionUse::Always), "Transpose Attention");
}

/// Rows with all heads side by side, taken apart and put together by Reshape and Transpose.
Graph flat_graph(const Order& last) {
  return graph_of(
      {{"qh", "Reshape", {"q", "apart"}},
       {"kh", "Reshape", {"k", "apart"}},
       {"vh", "Reshape", {"v", "apart"}},
       {"qt", "Transpose", {"qh"}, {{"perm", order({0, 2, 1, 3})}}},
       {"kt", "Transpose", {"kh"}, {{"perm", order({0, 2, 3, 1})}}},
       {"vt", "Transpose", {"vh"}, {{"perm", order({0, 2, 1, 3})}}},
       {"qs", "Mul", {"qt", "scale"}},
       {"p", "MatMul", {"qs", "kt"}},
       {"w", "Softmax", {"p"}, {{"axis", int64_t{-1}}}},
       {"z", "MatMul", {"w", "vt"}},
       {"zt", "Transpose", {"z"}, {{"perm", order(last)}}},
       {"y", "Reshape", {"zt", "together"}}},
      {{"apart", list_of({2, 5, 3, 8})}, {"together", list_of({2, 5, 24})}, {"scale", number(0.5)}},
      {{"q", {2, 5, 24}}, {"k", {2, 5, 24}}, {"v", {2, 5, 24}}});
}

TEST(RecogniseAttention, PutsHeadsSideBySide) {
  const Graph out =
      recognise_attention(flat_graph({0, 2, 1, 3}), AttentionUse::ByCost, one_each).graph;
  ASSERT_EQ(ops_of(out), "Attention");
  EXPECT_EQ(std::get<int64_t>(out.nodes[0].attributes.at("q_num_heads")), 3);
  EXPECT_EQ(std::get<double>(out.nodes[0].attributes.at("scale")), 0.5);
  // Another order of the result is made of it.
  EXPECT_EQ(recognised(flat_graph({0, 2, 3, 1})), "Attention Reshape Transpose Reshape");
}

/// One value has queries, keys and values of [rows, batch, 3 * heads * elements], as torch's
/// MultiheadAttention takes them apart; keys are transposed as a list of matrices, both operands
/// scaled by a root.
Graph joint_graph() {
  const auto index = [](int64_t value) { return list_of({value}).with_shape({}); };
  return graph_of({{"four", "Reshape", {"x", "apart"}},
                   {"front", "Transpose", {"four"}, {{"perm", order({2, 1, 0, 3})}}},
                   {"q", "Gather", {"front", "zero"}, {{"axis", int64_t{0}}}},
                   {"k", "Gather", {"front", "one"}, {{"axis", int64_t{0}}}},
                   {"v", "Gather", {"front", "last"}, {{"axis", int64_t{0}}}},
                   {"qr", "Reshape", {"q", "rows"}},
                   {"kr", "Reshape", {"k", "rows"}},
                   {"vr", "Reshape", {"v", "rows"}},
                   {"qh", "Transpose", {"qr"}, {{"perm", order({0, 2, 1, 3})}}},
                   {"kh", "Transpose", {"kr"}, {{"perm", order({0, 2, 1, 3})}}},
                   {"vh", "Transpose", {"vr"}, {{"perm", order({0, 2, 1, 3})}}},
                   {"km", "Reshape", {"kh", "merged"}},
                   {"kt", "Transpose", {"km"}, {{"perm", order({0, 2, 1})}}},
                   {"ka", "Reshape", {"kt", "turned"}},
                   {"qs", "Mul", {"qh", "root"}},
                   {"ks", "Mul", {"ka", "root"}},
                   {"p", "MatMul", {"qs", "ks"}},
                   {"w", "Softmax", {"p"}, {{"axis", int64_t{-1}}}},
                   {"z", "MatMul", {"w", "vh"}},
                   {"zt", "Transpose", {"z"}, {{"perm", order({2, 0, 1, 3})}}},
                   {"y", "Reshape", {"zt", "together"}}},
                  {{"apart", list_of({5, 2, 3, 24})},
                   {"rows", list_of({2, 5, 3, 8})},
                   {"merged", list_of({6, 5, 8})},
                   {"turned", list_of({2, 3, 8, 5})},
                   {"together", list_of({10, 24})},
                   {"zero", index(0)},
                   {"one", index(1)},
                   {"last", index(-1)},
                   {"root", number(0.5)}},
                  {{"x", {5, 2, 72}}});
}

TEST(RecogniseAttention, SeesThroughViews) {
  const Graph out = recognise_attention(joint_graph(), AttentionUse::Always, one_each).graph;
  EXPECT_TRUE(spec(out).empty());
  // Each operand is a part of the rows' elements. Rows stay in front, with the heads of both
  // batches side by side.
  EXPECT_EQ(ops_of(out), "Reshape Slice Reshape Reshape Slice Reshape Reshape Slice Reshape "
                         "Attention Reshape");
  const Node& node = out.nodes[out.nodes.size() - 2];
  EXPECT_EQ(std::get<double>(node.attributes.at("scale")), 0.25);
  EXPECT_EQ(std::get<int64_t>(node.attributes.at("q_num_heads")), 6);
}

TEST(RecogniseAttention, DropsTheGuardOfRowsThatSeeKeys) {
  const HeadsApart guarded{{{"m", "Add", {"s", "mask"}}}, {}, {{"mask", {2, 1, 1, 4}}}};
  const auto with_guard = [](const HeadsApart& apart, const char* scores) {
    Graph graph = apart.graph();
    // w = Softmax, y = MatMul(w, v) becomes MatMul(Where(IsNaN(w), 0, w), v).
    Node product = graph.nodes.back();
    graph.nodes.pop_back();
    const ValueId weights = product.inputs[0];
    const auto value = [&](const char* name) {
      graph.values.push_back({name, {}});
      return static_cast<ValueId>(graph.values.size() - 1);
    };
    const ValueId test = value("is_nan"), zero = value("zero"), chosen = value("chosen");
    graph.initializers[zero] = number(0);
    graph.nodes.push_back({"is_nan", "IsNaN", "", {weights}, {test}, {}});
    graph.nodes.push_back({"chosen", "Where", "", {test, zero, weights}, {chosen}, {}});
    product.inputs[0] = chosen;
    graph.nodes.push_back(product);
    EXPECT_EQ(recognised(graph, AttentionUse::Always), scores);
  };
  with_guard(HeadsApart{}, "Attention");
  with_guard(guarded, "ZeroingAttention"); // a mask may hide all keys of a query
  // A constant mask tells.
  const std::vector<Line> sum{{"m", "Add", {"s", "mask"}}};
  with_guard({sum, {{"mask", band(4, false)}}}, "Reshape Attention");
  with_guard({sum, {{"mask", band(4, true)}}}, "Reshape ZeroingAttention");
  const std::vector<Line> choice{{"m", "Where", {"mask", "s", "low"}}};
  Tensor shown(DataType::Bool, {4, 4});
  for (int64_t k = 0; k < 4; ++k)
    shown.set_double(5 * k, 1);
  const Tensor low = number(-kInfinite);
  with_guard({choice, {{"mask", shown}, {"low", low}}}, "Where Attention");
  shown.set_double(0, 0);
  with_guard({choice, {{"mask", shown}, {"low", low}}}, "Where ZeroingAttention");
}

TEST(RecogniseAttention, SharesHeadsOfKeys) {
  // Each of two heads of keys and values stands for three heads of queries.
  const Graph graph = graph_of(
      {{"k5", "Unsqueeze", {"k", "two"}},
       {"ke", "Expand", {"k5", "wide"}},
       {"kr", "Reshape", {"ke", "heads"}},
       {"v5", "Unsqueeze", {"v", "two"}},
       {"ve", "Expand", {"v5", "wide"}},
       {"vr", "Reshape", {"ve", "heads"}},
       {"kt", "Transpose", {"kr"}, {{"perm", order({0, 1, 3, 2})}}},
       {"p", "MatMul", {"q", "kt"}},
       {"w", "Softmax", {"p"}, {{"axis", int64_t{-1}}}},
       {"y", "MatMul", {"w", "vr"}}},
      {{"two", list_of({2})}, {"wide", list_of({2, 2, 3, 5, 8})}, {"heads", list_of({2, 6, 5, 8})}},
      {{"q", {2, 6, 4, 8}}, {"k", {2, 2, 5, 8}}, {"v", {2, 2, 5, 8}}});
  const Graph out = recognise_attention(graph, AttentionUse::Always, one_each).graph;
  ASSERT_EQ(ops_of(out), "Attention");
  EXPECT_EQ(out.nodes[0].inputs,
            (std::vector<ValueId>{graph.nodes[7].inputs[0], graph.nodes[0].inputs[0],
                                  graph.nodes[3].inputs[0]}));
}

} // namespace
} // namespace kawara::graph::optimise
