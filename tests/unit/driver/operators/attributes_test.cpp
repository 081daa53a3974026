#include "driver/check/conformance.h"
#include "driver/plan/control_flow.h"
#include "driver/plan/unknown_operators.h"
#include "graph/attribute_table.h"
#include "graph/attributes.h"
#include "graph/onnx/import.h"
#include "program/operators/registry.h"
#include "run/file.h"
#include "run/functions/function.h"
#include "unit/driver/one_node.h"

namespace kawara::driver::one_node {
namespace {

/// An operator that is not in the table could ignore whatever a file says.
TEST(Attributes, AreListedForEveryOperator) {
  std::set<std::string> listed;
  for (const graph::AttributeRow& row : graph::attribute_rows())
    listed.insert(std::string(row.op));
  std::vector<std::string> known = program::operators::operator_names();
  for (const auto& more : {run::function_names(), control_flow_names()})
    known.insert(known.end(), more.begin(), more.end());
  for (const std::string& name : known) {
    const bool is_made_by_passes = name.rfind("ChannelsLast", 0) == 0 || name == "ZeroingAttention";
    EXPECT_TRUE(is_made_by_passes || listed.count(name) > 0) << name;
  }
  for (const std::string& name : listed)
    EXPECT_TRUE(is_known_operator({"", name, "", {}, {}, {}})) << name;
}

/// Inputs of a case's first set; without elements where there are none.
std::vector<Tensor> inputs_of(const ConformanceCase& c, size_t count) {
  std::vector<Tensor> inputs(count);
  for (size_t k = 0; k < count; ++k) {
    const auto bytes =
        run::read_file(c.folder + "/test_data_set_0/input_" + std::to_string(k) + ".pb");
    auto tensor = graph::tensor_from_onnx(bytes ? *bytes : "", "input");
    if (bytes && tensor)
      inputs[k] = *std::move(tensor);
  }
  return inputs;
}

/// Which attributes the node's rule and its function look at.
std::set<std::string> reads_of(const graph::Graph& graph, const std::vector<Tensor>& inputs) {
  const graph::Node& node = graph.nodes[0];
  std::vector<program::operators::Operand> operands;
  std::set<std::string> reads;
  run::FunctionCall call{node, graph.opsets.at(""), {}, &reads};
  size_t next = 0;
  for (const graph::ValueId id : node.inputs) {
    call.inputs.push_back({id == graph::kAbsent ? Tensor() : inputs[next++], false, {}});
    const Tensor& value = call.inputs.back().tensor;
    operands.push_back({static_cast<bool>(value), value.type(), value.shape(), nullptr, false});
  }
  for (size_t k = 0; k < operands.size(); ++k)
    operands[k].value = operands[k].is_present ? &call.inputs[k].tensor : nullptr;
  bool is_function = true;
  if (const auto* op = program::operators::find_operator(node.op)) {
    program::operators::Definition definition(node, call.opset, operands);
    op->rule(definition);
    reads = definition.reads();
    is_function = definition.is_declined();
  }
  const run::Function* function = run::find_function(node.op);
  bool has_all = is_function && function;
  for (size_t k = 0; has_all && k < function->needed; ++k)
    has_all = call.has(k);
  if (has_all)
    static_cast<void>(function->call(call));
  return reads;
}

/// What rules look at is in the table, or files that have it would be refused: over the standard's
/// own cases.
TEST(Attributes, ThatRulesReadAreListed) {
  const auto cases = conformance_cases("/usr/share/libonnx-testdata/data");
  if (!cases)
    GTEST_SKIP() << "the standard's cases are not here";
  size_t seen = 0;
  for (const ConformanceCase& c : *cases) {
    const auto bytes = run::read_file(c.folder + "/model.onnx");
    const auto graph = graph::graph_from_onnx(*bytes, c.name, c.folder);
    if (!graph || graph->nodes.size() != 1 || graph->inputs.size() > graph->nodes[0].inputs.size())
      continue;
    const auto inputs = inputs_of(c, graph->nodes[0].inputs.size());
    EXPECT_EQ(graph::unlisted_attributes(graph->nodes[0].op, reads_of(*graph, inputs)),
              std::set<std::string>{})
        << c.name;
    ++seen;
  }
  EXPECT_GT(seen, 500U);
}

/// Passes and C++ code make nodes that no file had; rules that do not look at an attribute refuse
/// them, too.
TEST(Attributes, ThatNoRuleReadsAreRefused) {
  const Tensor x = varied({2, 3}, 1);
  EXPECT_NE(refusal({"Relu", {{"slope", 0.5}}, {x}}).find("error[K0512]"), std::string::npos);
  EXPECT_NE(refusal({"NonZero", {{"axis", int64_t{1}}}, {x}}).find("error[K0512]"),
            std::string::npos);
  EXPECT_EQ(refusal({"Gather", {{"axis", int64_t{1}}}, {x, integers({1})}}), "");
}

TEST(Attributes, ThatDoNotCountInThisCaseAreFine) {
  const Tensor x = varied({2, 4, 6, 6}, 1), c = varied({4}, 2);
  EXPECT_EQ(refusal({"BatchNormalization", {{"momentum", 0.3}}, {x, c, c, c, c}}), "");
  EXPECT_EQ(refusal({"MaxPool",
                     {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"storage_order", int64_t{1}}},
                     {x}}),
            "");
  EXPECT_EQ(refusal({"ReduceSum", {{"noop_with_empty_axes", int64_t{1}}}, {x, integers({1})}}), "");
  EXPECT_EQ(refusal({"Dropout", {{"seed", int64_t{5}}}, {x}}), "");
  EXPECT_EQ(refusal({"Resize",
                     {{"cubic_coeff_a", -0.5}, {"extrapolation_value", 3.0}},
                     {x, Tensor(), floats({4}, {1, 1, 2, 2})}}),
            "");
}

TEST(Attributes, ThatNameNoWayAreRefused) {
  const Tensor x = varied({1, 4, 6, 6}, 1);
  const auto why = [&](const std::string& op, const std::string& name, Attributes more,
                       std::vector<Tensor> inputs) {
    more[name] = std::string("odd");
    return refusal({op, more, std::move(inputs)}).find("attribute `" + name + "` is `odd`");
  };
  const std::vector<int64_t> two = {2, 2};
  EXPECT_NE(why("MaxPool", "auto_pad", {{"kernel_shape", two}}, {x}), std::string::npos);
  EXPECT_NE(why("DepthToSpace", "mode", {{"blocksize", int64_t{2}}}, {x}), std::string::npos);
  EXPECT_NE(why("GridSample", "padding_mode", {}, {x, varied({1, 2, 2, 2}, 3)}), std::string::npos);
}

/// Also where passes would write the convolution in another way.
TEST(Attributes, OfAWindowFitTheWeights) {
  const Tensor x = varied({1, 4, 6, 6}, 1), w = varied({8, 4, 3, 3}, 2);
  const std::vector<int64_t> two = {2, 2}, three = {3, 3};
  EXPECT_EQ(refusal({"Conv", {{"kernel_shape", three}}, {x, w}}), "");
  for (const bool is_constant : {false, true}) {
    graph::Graph graph = graph_of({"Conv", {{"kernel_shape", two}}, {x, w}});
    if (is_constant) {
      graph.initializers[graph.inputs[1]] = w;
      graph.inputs.pop_back();
    }
    std::map<std::string, run::Datum> inputs = {{"x0", {x, false, {}}}};
    if (!is_constant)
      inputs["x1"] = {w, false, {}};
    for (const ImageOrder order : {ImageOrder::ByCost, ImageOrder::ChannelsLast}) {
      ModelOptions options;
      options.images = order;
      Model model(graph, options);
      const auto results = model.run(inputs);
      ASSERT_FALSE(results);
      EXPECT_NE(render(results.error()).find("the weights are for windows of [3, 3]"),
                std::string::npos);
    }
  }
}

TEST(Attributes, SplitCountsItsOutputs) {
  const Tensor x = varied({6}, 1);
  Case c{"Split", {{"num_outputs", int64_t{2}}}, {x}, 18, 2};
  EXPECT_EQ(run(c)[0].shape(), Shape{3});
  c.attributes["num_outputs"] = int64_t{3};
  EXPECT_NE(refusal(c).find("num_outputs is 3 for 2 outputs"), std::string::npos);
}

TEST(Attributes, PadGoesAround) {
  const auto got =
      run({"Pad", {{"mode", std::string("wrap")}}, {floats({3}, {1, 2, 3}), integers({4, 2})}});
  expect_elements(got[0], {3, 1, 2, 3, 1, 2, 3, 1, 2});
}

/// Long rows are copied run by run, short ones gathered.
TEST(Attributes, PadOfLongRowsInEveryMode) {
  constexpr int64_t kRows = 2, kLength = 40;
  const Tensor x = varied({kRows, kLength}, 1);
  const auto place = [](const std::string& mode, int64_t i) {
    if (mode == "edge")
      return std::clamp<int64_t>(i, 0, kLength - 1);
    if (mode == "wrap")
      return (i + 2 * kLength) % kLength;
    return i < 0 ? -i : i < kLength ? i : 2 * (kLength - 1) - i;
  };
  for (const char* mode : {"reflect", "edge", "wrap"})
    for (const auto& [begin, end] : std::initializer_list<std::pair<int64_t, int64_t>>{
             {3, 5}, {0, 7}, {39, 0}, {-4, 6}, {2, -3}, {40, 1}, {45, 45}}) {
      if (mode == std::string("reflect") && std::max(begin, end) >= kLength)
        continue;
      SCOPED_TRACE(fmt::format("{} {} {}", mode, begin, end));
      const Tensor got =
          run({"Pad", {{"mode", std::string(mode)}}, {x, integers({0, begin, 0, end})}})[0];
      const int64_t length = kLength + begin + end;
      std::vector<double> expected;
      for (int64_t r = 0; r < kRows; ++r)
        for (int64_t i = 0; i < length; ++i)
          expected.push_back(x.get_double(r * kLength + place(mode, i - begin)));
      expect_elements(got, expected);
    }
}

TEST(Attributes, OfNormsMayBeLarge) {
  const Tensor x = floats({1, 1, 3}, {1, -2, 3});
  expect_elements(
      run({"LpPool", {{"kernel_shape", std::vector<int64_t>{2}}, {"p", int64_t{3}}}, {x}})[0],
      {std::cbrt(9.0), std::cbrt(35.0)});
  expect_elements(run({"GlobalLpPool", {{"p", int64_t{4}}}, {x}})[0], {std::pow(98, 0.25)});
}

TEST(UnknownOperators, AreAllNamedAndCounted) {
  graph::Graph graph = graph_of({"Conv2D", {}, {varied({2}, 1)}});
  const auto add = [&](const std::string& name, const std::string& op, const std::string& domain) {
    graph.values.push_back({name, {}});
    graph.nodes.push_back({name,
                           op,
                           domain,
                           {graph.inputs[0]},
                           {static_cast<graph::ValueId>(graph.values.size() - 1)},
                           {}});
  };
  add("r", "Relu", "");
  add("n1", "FastNorm", "com.example");
  add("n2", "FastNorm", "com.example");
  add("g", "Gelu", "com.microsoft");
  add("s", "Sofmax", "");
  EXPECT_EQ(render(unknown_operators(graph)),
            "error[K0510]: `one_node` uses 4 operators that Kawara does not know\n\n"
            "  com.example.FastNorm: 2 nodes, first `n1`\n"
            "  Conv2D: node `the_node`; the nearest that is known is Conv\n"
            "  com.microsoft.Gelu: node `g`; the standard has an operator Gelu\n"
            "  Sofmax: node `s`; the nearest that is known is Softmax\n"
            "  Only operators of the ONNX standard itself are known.\n");
}

} // namespace
} // namespace kawara::driver::one_node
