#include "graph/onnx/opset.h"

#include "graph/builder.h"

#include <gtest/gtest.h>

namespace kawara::graph {
namespace {

/// A graph of one node over an image, of that version.
Graph one(int64_t opset, const std::string& op, const Attributes& attributes,
          const Shape& shape = {2, 6, 4, 4}) {
  Builder b("one", opset);
  const ValueId x = b.input("x", DataType::F32, dims_of(shape));
  b.output(b.add(op, "y", {x}, attributes), DataType::F32, dims_of(shape));
  return b.graph();
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes)
    names.push_back(node.op);
  return names;
}

Graph raised(const Graph& graph, int64_t opset) {
  const auto result = with_opset(graph, opset);
  EXPECT_TRUE(result) << render(result.error());
  EXPECT_EQ(spec(*result), std::vector<std::string>{});
  EXPECT_EQ(result->opsets.at(""), opset);
  return *result;
}

using Names = std::vector<std::string>;

TEST(Opset, IsThatOfTheNewestOperator) {
  EXPECT_EQ(needed_opset(one(13, "Relu", {})), 13);
  EXPECT_EQ(needed_opset(one(13, "Gelu", {})), 20);
  EXPECT_EQ(needed_opset(one(22, "Gelu", {})), 22);
  EXPECT_EQ(needed_opset(one(11, "HardSwish", {})), 14);
}

TEST(Opset, AttributesBecomeOperands) {
  const Graph mean = raised(
      one(11, "ReduceMean", {{"axes", std::vector<int64_t>{2, 3}}, {"keepdims", int64_t{0}}}), 20);
  ASSERT_EQ(mean.nodes.size(), 1U);
  EXPECT_EQ(mean.nodes[0].attributes.count("axes"), 0U);
  EXPECT_EQ(mean.nodes[0].attributes.count("keepdims"), 1U);
  const Tensor& axes = mean.initializers.at(mean.nodes[0].inputs.at(1));
  EXPECT_EQ(axes.get_int(1), 3);
  const Graph still = raised(one(11, "ReduceMean", {{"axes", std::vector<int64_t>{2, 3}}}), 17);
  EXPECT_EQ(still.nodes[0].attributes.count("axes"), 1U) << "an attribute until version 18";
  const Graph clip = raised(one(9, "Clip", {{"min", 0.0}, {"max", 6.0}}), 20);
  ASSERT_EQ(clip.nodes[0].inputs.size(), 3U);
  EXPECT_EQ(clip.initializers.at(clip.nodes[0].inputs[2]).get_double(0), 6);
}

TEST(Opset, SoftmaxOverSeveralDimensionsStaysSo) {
  EXPECT_EQ(operators_of(raised(one(11, "Softmax", {{"axis", int64_t{1}}}), 20)),
            (Names{"Shape", "Flatten", "Softmax", "Reshape"}));
  const Graph last = raised(one(11, "Softmax", {{"axis", int64_t{3}}}), 20);
  EXPECT_EQ(operators_of(last), Names{"Softmax"});
  EXPECT_EQ(std::get<int64_t>(last.nodes[0].attributes.at("axis")), -1);
}

TEST(Opset, OperatorsThatWentHaveOthers) {
  const Graph up =
      raised(one(8, "Upsample",
                 {{"scales", std::vector<double>{1, 1, 2, 2}}, {"mode", std::string("nearest")}}),
             20);
  EXPECT_EQ(operators_of(up), Names{"Resize"});
  EXPECT_EQ(up.nodes[0].inputs.size(), 3U);
  EXPECT_EQ(std::get<std::string>(up.nodes[0].attributes.at("nearest_mode")), "floor");
}

TEST(Opset, SubgraphsAreRaisedToo) {
  Builder inner("branch", 11);
  const ValueId table = inner.constant("table", Tensor(DataType::F32, {2, 2}));
  inner.output(inner.add("ReduceSum", "sum", {table}, {{"axes", std::vector<int64_t>{0}}}),
               DataType::F32, dims_of({1, 2}));
  Builder b("outer", 11);
  const ValueId c = b.input("c", DataType::Bool, {});
  const auto branch = std::make_shared<const Graph>(inner.graph());
  b.output(b.add("If", "choice", {c}, {{"then_branch", branch}, {"else_branch", branch}}),
           DataType::F32, dims_of({1, 2}));
  const Graph graph = raised(b.graph(), 20);
  const Graph& then = *std::get<GraphPtr>(graph.nodes[0].attributes.at("then_branch"));
  EXPECT_EQ(then.nodes[0].inputs.size(), 2U);
  EXPECT_EQ(then.opsets.at(""), 20);
}

TEST(Opset, WhatHasNoNewerSpellingIsRefused) {
  Builder b("old", 9);
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 4, 2}));
  const ValueId v = b.constant("v", Tensor(DataType::F32, {4}));
  const auto y = b.add_many("BatchNormalization", "norm", {x, v, v, v, v}, 3);
  b.output(y[0], DataType::F32, dims_of({1, 4, 2}));
  const auto refused = with_opset(b.graph(), 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "K0567");
  EXPECT_NE(render(refused.error()).find("it returns statistics"), std::string::npos);
  const auto older = with_opset(one(6, "Relu", {}), 20);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, "K0567");
}

} // namespace
} // namespace kawara::graph
