#include "driver/model/model.h"

#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::driver {
namespace {

using namespace graph::graph_text;
using graph::Attribute;
using graph::Graph;

std::map<std::string, Datum> inputs_of(const Graph& graph) {
  return Model(graph, ModelOptions{false, false, "", nullptr}).pattern_inputs({});
}

Attribute list(std::vector<int64_t> values) { return values; }

struct Outcome {
  std::vector<Tensor> results;
  size_t groups = 0;
};

Outcome run_with(const Graph& graph, bool optimises, bool fuses) {
  Model model(graph, ModelOptions{optimises, fuses, "", nullptr});
  const auto inputs = inputs_of(graph);
  const auto results = model.run(inputs);
  EXPECT_TRUE(results) << (results ? "" : render(results.error()));
  Outcome out;
  for (const Datum& datum : *results)
    out.results.push_back(datum.tensor);
  const auto plans = model.plan(inputs);
  EXPECT_TRUE(plans);
  out.groups = (*plans)[0]->groups.size();
  return out;
}

/// All four ways of running a graph give the same; returns the number of kernels with everything
/// on.
size_t same_kernels(const Graph& graph) {
  const Outcome plain = run_with(graph, false, false);
  size_t groups = 0;
  for (const auto& [optimises, fuses] : {std::pair{true, false}, {false, true}, {true, true}}) {
    const Outcome other = run_with(graph, optimises, fuses);
    EXPECT_EQ(other.results.size(), plain.results.size());
    for (size_t k = 0; k < plain.results.size(); ++k) {
      EXPECT_EQ(other.results[k].shape(), plain.results[k].shape());
      for (int64_t at = 0; at < plain.results[k].elements(); ++at)
        EXPECT_NEAR(other.results[k].get_double(at), plain.results[k].get_double(at),
                    1e-5 * std::max(1.0, std::abs(plain.results[k].get_double(at))))
            << at;
    }
    groups = other.groups;
  }
  return groups;
}

TEST(Fusion, ResidualBlock) {
  const Graph graph = graph_of({{"a", "Conv", {"x", "w1"}, {{"pads", list({1, 1, 1, 1})}}},
                                {"b", "BatchNormalization", {"a", "s", "t", "m", "v"}},
                                {"c", "Relu", {"b"}},
                                {"d", "Conv", {"c", "w2", "t"}},
                                {"e", "Add", {"d", "x"}},
                                {"y", "Relu", {"e"}}},
                               {{"w1", ramp({4, 4, 3, 3}, 0.125)},
                                {"w2", ramp({4, 4, 1, 1}, 0.25)},
                                {"s", ramp({4})},
                                {"t", ramp({4}, -0.5)},
                                {"m", ramp({4}, 0.125)},
                                {"v", ramp({4}, 2)}},
                               {{"x", {1, 4, 6, 5}}});
  EXPECT_EQ(same_kernels(graph), 2U);
}

/// Three products in a row; what the first one makes is wanted again at the end.
Graph with_residual(const std::string& last) {
  return graph_of({{"a", "MatMul", {"x", "w"}},
                   {"b", "MatMul", {"a", "w"}},
                   {"c", "MatMul", {"b", "w"}},
                   {"d", "Add", {"c", last}},
                   {"y", "MatMul", {"d", "w"}}},
                  {{"w", ramp({16, 16}, 0.01)}}, {{"x", {16, 16}}});
}

TEST(InPlace, ResultsTakeOverWhatEndsThere) {
  const Graph graph = with_residual("a");
  Model model(graph, ModelOptions{false, true, "", nullptr});
  const auto plans = model.plan(inputs_of(graph));
  ASSERT_TRUE(plans);
  const Plan& plan = *plans->front();
  ASSERT_EQ(plan.in_place.size(), 2U);
  EXPECT_EQ(plan.in_place[0].why, "S1 reads elements before another iteration of S2 writes them")
      << "the product's own operand ends there, too";
  const InPlace& share = plan.in_place[1];
  EXPECT_TRUE(share.is_done) << share.why;
  EXPECT_EQ(graph.values[share.operand].name, "a");
  EXPECT_EQ(plan.places.at(share.operand).offset, plan.places.at(share.result).offset);
  EXPECT_EQ(plan.bytes_in_place, plan.block_bytes / 2) << "two of three tensors are left";
  EXPECT_NE(plan.groups[share.group].program.find("inout Y0"), std::string::npos);
  same_kernels(graph);
}

TEST(InPlace, NotWhereTheBlockStaysAsLarge) {
  const Graph graph = with_residual("b"); // read by the product, too: every row needs all of it
  Model model(graph, ModelOptions{false, true, "", nullptr});
  const auto plans = model.plan(inputs_of(graph));
  ASSERT_TRUE(plans);
  for (const InPlace& share : plans->front()->in_place)
    EXPECT_FALSE(share.is_done);
  EXPECT_EQ(plans->front()->bytes_in_place, 0);
  same_kernels(graph);
}

TEST(Fusion, GatedAndPaddedInABatch) {
  const Graph graph = graph_of(
      {{"a", "Conv", {"x", "w1"}, {{"group", int64_t{4}}, {"pads", list({1, 1, 1, 1})}}},
       {"b", "Sigmoid", {"a"}},
       {"c", "Mul", {"a", "b"}},
       {"p", "GlobalAveragePool", {"c"}},
       {"q", "Conv", {"p", "w2"}},
       {"g", "HardSigmoid", {"q"}},
       {"e", "Mul", {"c", "g"}},
       {"y", "MaxPool", {"e"}, {{"kernel_shape", list({3, 3})}, {"pads", list({1, 1, 1, 1})}}}},
      {{"w1", ramp({4, 1, 3, 3}, 0.125)}, {"w2", ramp({4, 4, 1, 1}, 0.25)}}, {{"x", {2, 4, 6, 5}}});
  EXPECT_LE(same_kernels(graph), 5U);
}

TEST(Fusion, TransformerBlock) {
  const Graph graph = graph_of({{"m", "ReduceMean", {"x"}, {{"axes", list({-1})}}},
                                {"d", "Sub", {"x", "m"}},
                                {"q", "Mul", {"d", "d"}},
                                {"v", "ReduceMean", {"q"}, {{"axes", list({-1})}}},
                                {"e", "Add", {"v", "eps"}},
                                {"r", "Sqrt", {"e"}},
                                {"n", "Div", {"d", "r"}},
                                {"s", "Mul", {"n", "gamma"}},
                                {"l", "Add", {"s", "beta"}},
                                {"f", "MatMul", {"l", "w1"}},
                                {"g", "Add", {"f", "b1"}},
                                {"h", "Mul", {"g", "root"}},
                                {"i", "Erf", {"h"}},
                                {"j", "Add", {"i", "one"}},
                                {"k", "Mul", {"g", "j"}},
                                {"o", "Mul", {"k", "half"}},
                                {"u", "MatMul", {"o", "w2"}},
                                {"y", "Add", {"u", "x"}}},
                               {{"eps", number(1e-5)},
                                {"gamma", ramp({8})},
                                {"beta", ramp({8}, 0.125)},
                                {"w1", ramp({8, 12}, 0.125)},
                                {"b1", ramp({12}, -0.25)},
                                {"w2", ramp({12, 8}, 0.125)},
                                {"root", number(std::sqrt(0.5))},
                                {"one", number(1)},
                                {"half", number(0.5)}},
                               {{"x", {2, 3, 8}}});
  EXPECT_EQ(same_kernels(graph), 3U);
}

TEST(Fusion, ValuesReadThroughViews) {
  Graph graph = graph_of({{"a", "Relu", {"x"}},
                          {"b", "Reshape", {"a", "shape"}},
                          {"c", "Neg", {"b"}},
                          {"d", "Transpose", {"c"}, {{"perm", list({1, 0})}}},
                          {"y", "Add", {"d", "row"}}},
                         {{"row", ramp({4})}}, {{"x", {2, 3, 4}}});
  Tensor shape(graph::DataType::I64, {2});
  shape.set_int(0, 4);
  shape.set_int(1, 6);
  for (graph::ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].name == "shape")
      graph.initializers[id] = shape;
  graph.outputs.push_back(graph.nodes[1].outputs[0]); // the view, too
  same_kernels(graph);
}

TEST(Fusion, IntegersTruthValuesAndHalves) {
  const Graph graph = graph_of({{"a", "Cast", {"x"}, {{"to", int64_t{10}}}},
                                {"b", "Mul", {"a", "a"}},
                                {"c", "Cast", {"b"}, {{"to", int64_t{1}}}},
                                {"d", "Greater", {"c", "x"}},
                                {"e", "Not", {"d"}},
                                {"f", "Where", {"e", "c", "x"}},
                                {"g", "Cast", {"f"}, {{"to", int64_t{6}}}},
                                {"h", "Add", {"g", "g"}},
                                {"y", "Cast", {"h"}, {{"to", int64_t{1}}}}},
                               {}, {{"x", {5, 7}}});
  same_kernels(graph);
}

TEST(Fusion, SaysWhyValuesAreStored) {
  const Graph graph =
      graph_of({{"a", "MatMul", {"x", "w"}}, {"b", "Relu", {"a"}}, {"y", "MatMul", {"b", "w"}}},
               {{"w", ramp({4, 4})}}, {{"x", {3, 4}}});
  Model model(graph, {});
  const auto plans = model.plan(inputs_of(graph));
  ASSERT_TRUE(plans);
  EXPECT_EQ(model.kernels(), 0); // nothing was compiled for it
  ASSERT_EQ((*plans)[0]->groups.size(), 2U);
  ASSERT_EQ((*plans)[0]->borders.size(), 1U);
  EXPECT_EQ((*plans)[0]->borders[0].why, "many-to-many followed by many-to-many is never fused");
}

} // namespace
} // namespace kawara::driver
