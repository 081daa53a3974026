#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kawara::graph::optimise {
namespace {

using namespace graph_text;
using Attribute = kawara::graph::Attribute;

Attribute list(std::vector<int64_t> values) { return values; }

const std::map<std::string, Shape> kImage{{"x", {1, 2, 4, 4}}};

std::string after(Graph (*pass)(Graph, const Evaluate&), const Graph& graph) {
  const Graph out = pass(graph, nullptr);
  EXPECT_TRUE(spec(out).empty());
  EXPECT_EQ(out.outputs, graph.outputs);
  return ops_of(out);
}

TEST(RemoveIdentities, TakesOutWhatPassesOn) {
  const auto graph = graph_of({{"a", "Identity", {"x"}},
                               {"b", "Dropout", {"a"}},
                               {"c", "Transpose", {"b"}, {{"perm", list({0, 2, 3, 1})}}},
                               {"d", "Transpose", {"c"}, {{"perm", list({0, 3, 1, 2})}}},
                               {"e", "Mul", {"d", "one"}},
                               {"f", "Sub", {"e", "zero"}},
                               {"y", "Relu", {"f"}}},
                              {{"one", number(1)}, {"zero", number(0)}}, kImage);
  const Graph out = remove_dead(remove_identities(graph, nullptr), nullptr);
  EXPECT_EQ(ops_of(out), "Relu");
  EXPECT_EQ(out.nodes[0].inputs[0], out.inputs[0]);
}

TEST(RemoveIdentities, TakesOutPadsOfNothing) {
  Tensor none(DataType::I64, {8}), some(DataType::I64, {8});
  some.set_int(3, 1);
  const auto padded = [](const Tensor& amounts) {
    return after(remove_identities, graph_of({{"a", "Pad", {"x", "pads"}}, {"y", "Relu", {"a"}}},
                                             {{"pads", amounts}}, kImage));
  };
  EXPECT_EQ(padded(none), "Relu");
  EXPECT_EQ(padded(some), "Pad Relu");
}

Tensor numbers(const std::vector<int64_t>& values) {
  Tensor tensor(DataType::I64, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

TEST(JoinViews, MakesChainsShort) {
  const auto joined = [](const std::vector<Line>& lines,
                         const std::map<std::string, Tensor>& constants) {
    const Graph graph = graph_of(lines, constants, {{"x", {4, 6, 10}}});
    return ops_of(remove_dead(join_views(graph, nullptr), nullptr));
  };
  // Two transpositions around a list of matrices are one.
  EXPECT_EQ(joined({{"a", "Transpose", {"x"}, {{"perm", list({1, 0, 2})}}},
                    {"b", "Reshape", {"a", "apart"}},
                    {"c", "Transpose", {"b"}, {{"perm", list({1, 0, 2, 3})}}},
                    {"y", "Relu", {"c"}}},
                   {{"apart", numbers({6, 4, 2, 5})}}),
            "Reshape Relu");
  // Where nothing moves in the end, nothing is left.
  EXPECT_EQ(
      joined(
          {{"a", "Reshape", {"x", "flat"}}, {"b", "Reshape", {"a", "back"}}, {"y", "Relu", {"b"}}},
          {{"flat", numbers({24, 10})}, {"back", numbers({4, 6, 10})}}),
      "Relu");
  // Parts of parts are parts.
  EXPECT_EQ(joined({{"a", "Slice", {"x", "one", "three", "zero"}},
                    {"b", "Slice", {"a", "one", "two", "zero"}},
                    {"y", "Relu", {"b"}}},
                   {{"zero", numbers({0})},
                    {"one", numbers({1})},
                    {"two", numbers({2})},
                    {"three", numbers({3})}}),
            "Reshape Slice Reshape Relu");
  // One after the other they move as little.
  EXPECT_EQ(
      joined({{"a", "Transpose", {"x"}, {{"perm", list({1, 0, 2})}}}, {"y", "Relu", {"a"}}}, {}),
      "Transpose Relu");
}

TEST(JoinViews, NamesItsNodesAfterTheResult) {
  // So many values that adding one moves them all, with one number of them or another.
  for (size_t others = 0; others < 20; ++others) {
    std::vector<Line> lines{
        {"a", "Slice", {"x", "one", "three", "zero"}},
        {"the last of the views in a chain", "Slice", {"a", "one", "two", "zero"}},
        {"y", "Relu", {"the last of the views in a chain"}}};
    for (size_t k = 0; k < others; ++k)
      lines.push_back({"y" + std::to_string(k), "Relu", {"x"}});
    const Graph graph = graph_of(lines,
                                 {{"zero", numbers({0})},
                                  {"one", numbers({1})},
                                  {"two", numbers({2})},
                                  {"three", numbers({3})}},
                                 {{"x", {4, 6, 10}}});
    for (const Node& node : remove_dead(join_views(graph, nullptr), nullptr).nodes)
      EXPECT_TRUE(node.op == "Relu" || node.name.starts_with("the last of the views in a chain"))
          << node.name;
  }
}

TEST(JoinViews, KnowsSymbolsByTheirNames) {
  Graph graph = graph_of({{"a", "Reshape", {"x", "apart"}},
                          {"b", "Transpose", {"a"}, {{"perm", list({0, 2, 1, 3})}}},
                          {"c", "Transpose", {"b"}, {{"perm", list({0, 2, 1, 3})}}},
                          {"d", "Reshape", {"c", "together"}},
                          {"e", "Transpose", {"d"}, {{"perm", list({1, 0, 2})}}},
                          {"y", "Relu", {"e"}}},
                         {{"apart", numbers({0, 0, 2, 5})}, {"together", numbers({0, 0, 10})}},
                         {{"x", {4, 6, 10}}});
  auto& dims = *graph.values[graph.inputs[0]].type.shape;
  dims[0] = {std::nullopt, "batch"};
  EXPECT_EQ(ops_of(remove_dead(join_views(graph, nullptr), nullptr)), "Transpose Relu");
}

TEST(RemoveIdentities, KeepsWhatIsAResultOrChangesSomething) {
  EXPECT_EQ(after(remove_identities, graph_of({{"y", "Identity", {"x"}}}, {}, kImage)), "Identity");
  EXPECT_EQ(after(remove_identities, graph_of({{"a", "Mul", {"x", "two"}}, {"y", "Relu", {"a"}}},
                                              {{"two", number(2)}}, kImage)),
            "Mul Relu");
  // One element in five dimensions makes the result five-dimensional.
  EXPECT_EQ(after(remove_identities, graph_of({{"a", "Mul", {"x", "one"}}, {"y", "Relu", {"a"}}},
                                              {{"one", ramp({1, 1, 1, 1, 1}, 1)}}, kImage)),
            "Mul Relu");
}

TEST(RemoveDead, TakesOutWhatNobodyReads) {
  const auto graph = graph_of({{"a", "Relu", {"x"}}, {"b", "Mul", {"x", "c"}}, {"y", "Neg", {"x"}}},
                              {{"c", number(2)}}, kImage);
  const Graph out = remove_dead(graph, nullptr);
  EXPECT_EQ(ops_of(out), "Neg");
  EXPECT_TRUE(out.initializers.empty());
}

TEST(MergeEqual, KeepsOneOfEach) {
  const auto graph = graph_of({{"a", "LeakyRelu", {"x"}, {{"alpha", 0.5}}},
                               {"b", "LeakyRelu", {"x"}, {{"alpha", 0.5}}},
                               {"c", "LeakyRelu", {"x"}, {{"alpha", 0.25}}},
                               {"d", "Add", {"a", "b"}},
                               {"y", "Add", {"d", "c"}}},
                              {}, kImage);
  EXPECT_EQ(after(merge_equal, graph), "LeakyRelu LeakyRelu Add Add");
}

TEST(MergeEqual, SeesEqualConstants) {
  const auto graph =
      graph_of({{"a", "Mul", {"x", "c"}}, {"b", "Mul", {"x", "d"}}, {"y", "Add", {"a", "b"}}},
               {{"c", number(2)}, {"d", number(2)}}, kImage);
  EXPECT_EQ(after(merge_equal, graph), "Mul Add");
}

TEST(FoldConstants, MakesConstantsOfConstantNodes) {
  const auto graph = graph_of({{"c", "Constant", {}, {{"value_float", 2.5}}},
                               {"i", "Constant", {}, {{"value_ints", list({3, 4})}}},
                               {"a", "Mul", {"x", "c"}},
                               {"y", "Reshape", {"a", "i"}}},
                              {}, kImage);
  const Graph out = fold_constants(graph, nullptr);
  EXPECT_EQ(ops_of(out), "Mul Reshape");
  EXPECT_EQ(out.initializers.at(out.nodes[0].inputs[1]).get_double(0), 2.5);
  EXPECT_EQ(out.initializers.at(out.nodes[1].inputs[1]).get_int(1), 4);
}

TEST(FoldConstants, AsksForNodesWithKnownInputsOnly) {
  const auto graph =
      graph_of({{"a", "Neg", {"c"}}, {"y", "Add", {"x", "a"}}}, {{"c", number(2)}}, kImage);
  const Evaluate negate = [](const Graph&, const Node& node, const std::vector<Tensor>& inputs) {
    EXPECT_EQ(node.op, "Neg");
    return std::optional(std::vector{number(-inputs[0].get_double(0))});
  };
  const Graph out = fold_constants(graph, negate);
  EXPECT_EQ(ops_of(out), "Add");
  EXPECT_EQ(out.initializers.at(out.nodes[0].inputs[1]).get_double(0), -2);
}

TEST(FoldAffine, PutsNormalisationIntoTheWeights) {
  const auto graph =
      graph_of({{"a", "Conv", {"x", "w"}}, {"y", "BatchNormalization", {"a", "s", "b", "m", "v"}}},
               {{"w", ramp({3, 2, 1, 1})},
                {"s", ramp({3})},
                {"b", ramp({3}, 0.5)},
                {"m", ramp({3}, 0.125)},
                {"v", ramp({3}, 2)}},
               kImage);
  const Graph out = fold_affine(graph, nullptr);
  ASSERT_EQ(ops_of(out), "Conv");
  const Tensor& weight = out.initializers.at(out.nodes[0].inputs[1]);
  const Tensor& bias = out.initializers.at(out.nodes[0].inputs[2]);
  const double scale = 0.5 / std::sqrt(4 + 1e-5); // of filter 1
  EXPECT_NEAR(weight.get_double(2), 0.75 * scale, 1e-6);
  EXPECT_NEAR(bias.get_double(1), 1.0 - 0.25 * scale, 1e-6);
}

TEST(FoldAffine, TakesOneNumberPerChannelOnly) {
  const std::map<std::string, Tensor> constants{
      {"w", ramp({3, 2, 1, 1})}, {"c", ramp({3, 1, 1})}, {"r", ramp({4})}};
  EXPECT_EQ(after(fold_affine, graph_of({{"a", "Conv", {"x", "w"}},
                                         {"b", "Mul", {"c", "a"}},
                                         {"d", "Add", {"b", "c"}},
                                         {"y", "Sub", {"d", "c"}}},
                                        constants, kImage)),
            "Conv");
  EXPECT_EQ(after(fold_affine, graph_of({{"a", "Conv", {"x", "w"}}, {"y", "Mul", {"a", "r"}}},
                                        constants, kImage)),
            "Conv Mul");
  // The convolution's own result is read by another node.
  EXPECT_EQ(after(fold_affine, graph_of({{"a", "Conv", {"x", "w"}},
                                         {"b", "Mul", {"a", "c"}},
                                         {"y", "Add", {"a", "b"}}},
                                        constants, kImage)),
            "Conv Mul Add");
}

TEST(FoldAffine, MovesAShiftOverAnUnpaddedConvolutionOnly) {
  const std::map<std::string, Tensor> constants{{"w", ramp({3, 2, 3, 3})}, {"c", ramp({2, 1, 1})}};
  const auto graph = [&](const char* op, std::vector<int64_t> pads) {
    return graph_of({{"a", op, {"x", "c"}}, {"y", "Conv", {"a", "w"}, {{"pads", list(pads)}}}},
                    constants, kImage);
  };
  EXPECT_EQ(after(fold_affine, graph("Add", {0, 0, 0, 0})), "Conv");
  EXPECT_EQ(after(fold_affine, graph("Add", {1, 1, 1, 1})), "Add Conv");
  EXPECT_EQ(after(fold_affine, graph("Mul", {1, 1, 1, 1})), "Conv");
}

TEST(RecogniseActivations, FindsGatedOnes) {
  EXPECT_EQ(after(recognise_activations,
                  graph_of({{"s", "Sigmoid", {"x"}}, {"y", "Mul", {"x", "s"}}}, {}, kImage)),
            "Swish");
  EXPECT_EQ(
      after(recognise_activations,
            graph_of({{"s", "HardSigmoid", {"x"}, {{"alpha", 1.0 / 6}}}, {"y", "Mul", {"s", "x"}}},
                     {}, kImage)),
      "HardSwish");
  EXPECT_EQ(after(recognise_activations,
                  graph_of({{"s", "HardSigmoid", {"x"}}, {"y", "Mul", {"s", "x"}}}, {}, kImage)),
            "HardSigmoid Mul");
  // The gate is read by another node, too.
  EXPECT_EQ(
      after(recognise_activations,
            graph_of({{"s", "Sigmoid", {"x"}}, {"a", "Mul", {"x", "s"}}, {"y", "Add", {"a", "s"}}},
                     {}, kImage)),
      "Sigmoid Mul Add");
}

TEST(RecogniseActivations, FindsHardSwishWrittenOut) {
  const std::map<std::string, Tensor> constants{
      {"c3", number(3)}, {"c0", number(0)}, {"c6", number(6)}};
  EXPECT_EQ(after(recognise_activations, graph_of({{"a", "Add", {"x", "c3"}},
                                                   {"b", "Clip", {"a", "c0", "c6"}},
                                                   {"c", "Mul", {"x", "b"}},
                                                   {"y", "Div", {"c", "c6"}}},
                                                  constants, kImage)),
            "HardSwish");
  EXPECT_EQ(after(recognise_activations, graph_of({{"a", "Add", {"x", "c3"}},
                                                   {"b", "Clip", {"a", "c0", "c6"}},
                                                   {"y", "Div", {"b", "c6"}}},
                                                  constants, kImage)),
            "HardSigmoid");
}

TEST(RecogniseActivations, FindsGeluInBothForms) {
  const std::map<std::string, Tensor> constants{
      {"half", number(0.5)}, {"one", number(1)},      {"root", number(std::sqrt(2.0))},
      {"three", number(3)},  {"k", number(0.044715)}, {"c", number(std::sqrt(2 / M_PI))}};
  const auto erf = graph_of({{"a", "Div", {"x", "root"}},
                             {"b", "Erf", {"a"}},
                             {"d", "Add", {"b", "one"}},
                             {"e", "Mul", {"x", "d"}},
                             {"y", "Mul", {"e", "half"}}},
                            constants, kImage);
  const Graph out = recognise_activations(erf, nullptr);
  ASSERT_EQ(ops_of(out), "Gelu");
  EXPECT_EQ(std::get<std::string>(out.nodes[0].attributes.at("approximate")), "none");
  const auto tanh = graph_of({{"a", "Pow", {"x", "three"}},
                              {"b", "Mul", {"a", "k"}},
                              {"d", "Add", {"x", "b"}},
                              {"e", "Mul", {"d", "c"}},
                              {"f", "Tanh", {"e"}},
                              {"g", "Add", {"f", "one"}},
                              {"h", "Mul", {"x", "half"}},
                              {"y", "Mul", {"h", "g"}}},
                             constants, kImage);
  EXPECT_EQ(after(recognise_activations, tanh), "Gelu");
  const auto other = graph_of({{"a", "Mul", {"x", "root"}},
                               {"b", "Erf", {"a"}},
                               {"d", "Add", {"b", "one"}},
                               {"e", "Mul", {"x", "d"}},
                               {"y", "Mul", {"e", "half"}}},
                              constants, kImage);
  EXPECT_EQ(after(recognise_activations, other), "Mul Erf Add Mul Mul");
}

std::vector<Line> layer_norm(int64_t axis) {
  return {{"m", "ReduceMean", {"x"}, {{"axes", list({axis})}}},
          {"d", "Sub", {"x", "m"}},
          {"q", "Pow", {"d", "two"}},
          {"v", "ReduceMean", {"q"}, {{"axes", list({axis})}}},
          {"e", "Add", {"v", "eps"}},
          {"r", "Sqrt", {"e"}},
          {"n", "Div", {"d", "r"}},
          {"s", "Mul", {"n", "gamma"}},
          {"y", "Add", {"s", "beta"}}};
}

TEST(RecogniseLayerNorm, FindsItOverTheLastDimension) {
  const std::map<std::string, Tensor> constants{
      {"two", number(2)}, {"eps", number(1e-6)}, {"gamma", ramp({4})}, {"beta", ramp({4}, 0.5)}};
  const Graph out = recognise_layer_norm(graph_of(layer_norm(-1), constants, kImage), nullptr);
  ASSERT_EQ(ops_of(out), "LayerNormalization");
  EXPECT_EQ(out.nodes[0].inputs.size(), 3U);
  EXPECT_EQ(after(recognise_layer_norm, graph_of(layer_norm(3), constants, kImage)),
            "LayerNormalization");
  EXPECT_EQ(after(recognise_layer_norm, graph_of(layer_norm(2), constants, kImage)),
            "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add");
}

TEST(Optimise, RepeatsUntilNothingChanges) {
  const auto graph = graph_of({{"a", "Identity", {"x"}},
                               {"s", "Sigmoid", {"x"}},
                               {"b", "Mul", {"a", "s"}},
                               {"y", "Neg", {"b"}}},
                              {}, kImage);
  const Optimised out = optimise(graph, nullptr);
  EXPECT_EQ(ops_of(out.graph), "Swish Neg");
  ASSERT_FALSE(out.passes.empty());
  EXPECT_EQ(out.passes[0].name, "remove_identities");
  EXPECT_EQ(out.passes[0].before, 4U);
  EXPECT_EQ(out.passes[0].after, 3U);
}

TEST(AbsorbTransposes, TurnsTheMatrix) {
  for (const bool is_transposed : {false, true}) {
    Tensor matrix(DataType::F32, is_transposed ? Shape{1, 12} : Shape{12, 1});
    for (int64_t k = 0; k < 12; ++k)
      matrix.set_double(k, static_cast<double>(k));
    const auto graph = graph_of({{"t", "Transpose", {"x"}, {{"perm", list({0, 2, 3, 1})}}},
                                 {"f", "Flatten", {"t"}, {{"axis", int64_t{1}}}},
                                 {"y", "Gemm", {"f", "m"}, {{"transB", int64_t{is_transposed}}}}},
                                {{"m", matrix}}, {{"x", {2, 3, 2, 2}}});
    const Graph out = absorb_transposes(graph, nullptr);
    ASSERT_EQ(ops_of(out), "Flatten Gemm");
    const Tensor& transposed = out.initializers.at(out.nodes[1].inputs[1]);
    // Element [c, h, w] of a row was at [h, w, c].
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t p = 0; p < 4; ++p)
        EXPECT_EQ(transposed.get_double(c * 4 + p), static_cast<double>(p * 3 + c));
  }
}

TEST(AbsorbTransposes, LeavesRowsThatOthersRead) {
  auto graph = graph_of({{"t", "Transpose", {"x"}, {{"perm", list({0, 2, 3, 1})}}},
                         {"f", "Flatten", {"t"}, {{"axis", int64_t{1}}}},
                         {"a", "Relu", {"f"}},
                         {"y", "MatMul", {"f", "m"}}},
                        {{"m", ramp({12, 5})}}, {{"x", {2, 3, 2, 2}}});
  graph.outputs.push_back(graph.nodes[2].outputs[0]);
  EXPECT_EQ(after(absorb_transposes, graph), "Transpose Flatten Relu MatMul");
}

TEST(Optimise, LeavesGraphsWithAConstantForNobody) {
  auto graph = graph_of({{"c", "Constant", {}, {{"value_int", int64_t{3}}}}, {"y", "Relu", {"x"}}},
                        {}, {{"x", {2}}});
  ASSERT_EQ(graph.nodes[0].op, "Constant");
  EXPECT_TRUE(has_all_operands(graph));
  graph.nodes[0].outputs[0] = kAbsent;
  EXPECT_FALSE(has_all_operands(graph));
  EXPECT_EQ(optimise(graph, {}).graph.nodes.size(), 2U);
  graph.nodes[0].outputs.push_back(graph.nodes[1].outputs[0]);
  EXPECT_FALSE(has_all_operands(graph));
}

/// Bytes -9, -8, ...
Tensor bytes(DataType type, const Shape& shape) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_int(k, k % 19 + (type == DataType::I8 ? -9 : 0));
  return tensor;
}

/// QuantizeLinear and DequantizeLinear around a product.
Graph quantised(const Tensor& right_scale, int64_t axis, bool has_zero = true) {
  return graph_of(
      {{"q", "QuantizeLinear", {"x", "s", "z"}},
       {"a", "DequantizeLinear",
        has_zero ? std::vector<std::string>{"q", "s", "z"} : std::vector<std::string>{"q", "s"}},
       {"b", "DequantizeLinear", {"w", "t", "zw"}, {{"axis", axis}}},
       {"y", "MatMul", {"a", "b"}}},
      {{"s", number(0.5)},
       {"z", number(3, DataType::U8)},
       {"w", bytes(DataType::I8, {6, 4})},
       {"t", right_scale},
       {"zw", bytes(DataType::I8, right_scale.shape())}},
      {{"x", {5, 6}}});
}

TEST(MultiplyBytes, TakesScalesOutOfProducts) {
  const auto ops = [](const Graph& graph) {
    return ops_of(remove_dead(multiply_bytes(graph), {}));
  };
  EXPECT_EQ(ops(quantised(number(0.25), 1)), "QuantizeLinear MatMulInteger Cast Mul");
  EXPECT_EQ(ops(quantised(ramp({4}), 1)), "QuantizeLinear MatMulInteger Cast Mul");
  // A scale for each row of the matrix is none of the product's; bytes without a zero point may be
  // wider integers.
  EXPECT_EQ(ops(quantised(ramp({6}), 0)),
            "QuantizeLinear DequantizeLinear DequantizeLinear MatMul");
  EXPECT_EQ(ops(quantised(number(0.25), 1, false)),
            "QuantizeLinear DequantizeLinear DequantizeLinear MatMul");
}

} // namespace
} // namespace kawara::graph::optimise
