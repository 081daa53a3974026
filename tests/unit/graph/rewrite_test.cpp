#include "graph/rewrite/rewrite.h"

#include "graph/rewrite/from_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::rewrite {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Builds graphs of f32 values in a few lines.
struct Builder {
  Graph graph;
  Builder() { graph.opsets[""] = 17; }

  ValueId value(const std::string& name) {
    graph.values.push_back({name, {}});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId input(const std::string& name, const Shape& shape) {
    const ValueId id = value(name);
    graph.values[id].type.elem = DataType::F32;
    graph.values[id].type.shape.emplace();
    for (const int64_t extent : shape)
      graph.values[id].type.shape->push_back({extent, ""});
    graph.inputs.push_back(id);
    return id;
  }
  ValueId constant(const std::string& name, const Shape& shape, double fill) {
    const ValueId id = value(name);
    Tensor tensor(DataType::F32, shape);
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_double(k, fill + 0.5 * static_cast<double>(k));
    graph.initializers.emplace(id, tensor);
    return id;
  }
  ValueId node(const std::string& op, const std::vector<ValueId>& inputs, const std::string& name,
               graph::Attributes attributes = {}) {
    const ValueId id = value(name);
    graph.nodes.push_back({"the_" + name, op, "", inputs, {id}, std::move(attributes)});
    return id;
  }
  Graph done(const std::vector<ValueId>& outputs) {
    graph.outputs = outputs;
    return graph;
  }
};

/// One for each node, products more by their size.
double simple_cost(const Application& a) {
  if (a.op.rfind("value#", 0) == 0 || a.op == "Reshape")
    return 0;
  return a.op == "MatMul" || a.op == "Conv" ? 10 : 1;
}

Rewritten rewritten(const Graph& graph, Numerics numerics = Numerics::Rounding,
                    const Cost& cost = simple_cost) {
  auto result = rewrite(graph, cost, {}, numerics);
  EXPECT_TRUE(result);
  EXPECT_TRUE(graph::spec(result->graph).empty());
  return *std::move(result);
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes)
    ops.push_back(node.op);
  return ops;
}
using Ops = std::vector<std::string>;

TEST(EGraph, SharesEqualTermsAndKeepsCongruence) {
  EGraph egraph;
  const auto leaf = [&](const char* name) {
    return egraph.add_opaque(name, {}, Type{DataType::F32, {2}}, false, std::nullopt);
  };
  const ClassId x = leaf("x"), y = leaf("y");
  const ClassId fx = *egraph.add("Relu", {}, {x}), fy = *egraph.add("Relu", {}, {y});
  const ClassId ffx = *egraph.add("Relu", {}, {fx}), ffy = *egraph.add("Relu", {}, {fy});
  EXPECT_EQ(*egraph.add("Relu", {}, {x}), fx);
  EXPECT_EQ(*egraph.add("Add", {}, {x, y}), *egraph.add("Add", {}, {y, x}));
  EXPECT_NE(egraph.find(ffx), egraph.find(ffy));
  EXPECT_TRUE(egraph.merge(x, y));
  egraph.rebuild();
  EXPECT_EQ(egraph.find(fx), egraph.find(fy));
  EXPECT_EQ(egraph.find(ffx), egraph.find(ffy));
}

TEST(EGraph, RefusesToMergeDifferentTypes) {
  EGraph egraph;
  const ClassId a = egraph.add_opaque("a", {}, Type{DataType::F32, {2}}, false, std::nullopt);
  const ClassId b = egraph.add_opaque("b", {}, Type{DataType::F32, {3}}, false, std::nullopt);
  EXPECT_FALSE(egraph.merge(a, b));
  EXPECT_FALSE(egraph.add("Add", {}, {a, b}));
}

TEST(Rewrite, CancelsTransposesAroundRelu) {
  Builder b;
  const ValueId x = b.input("x", {2, 3, 4});
  const std::vector<int64_t> there{0, 2, 1};
  const ValueId t = b.node("Transpose", {x}, "t", {{"perm", there}});
  const ValueId r = b.node("Relu", {t}, "r");
  const ValueId y = b.node("Transpose", {r}, "y", {{"perm", there}});
  const Rewritten result = rewritten(b.done({y}), Numerics::Exact);
  EXPECT_EQ(ops_of(result.graph), (Ops{"Relu"}));
  EXPECT_EQ(result.graph.values[result.graph.outputs[0]].name, "y");
  EXPECT_EQ(result.graph.values[result.graph.inputs[0]].name, "x");
  EXPECT_LT(result.statistics.cost_after, result.statistics.cost_before);
  EXPECT_GT(result.statistics.saturation.fired.size(), 0U);
}

TEST(Rewrite, TakesResultsThatAnOperatorDoesNotHave) {
  for (const char* op : {"Constant", "Relu", "Transpose"}) {
    Builder b;
    const ValueId x = b.input("x", {2, 3});
    Tensor three(DataType::F32, {3});
    const bool is_constant = std::string(op) == "Constant";
    b.node(op, is_constant ? std::vector<ValueId>{} : std::vector<ValueId>{x}, "first",
           is_constant ? graph::Attributes{{"value", three}} : graph::Attributes{});
    const ValueId second = b.value("second");
    b.graph.nodes.back().outputs.push_back(second);
    const ValueId y = b.node("Neg", {second}, "y");
    const Terms terms = terms_from_graph(b.done({y}));
    EXPECT_EQ(terms.classes.count(second), 1U) << op;
    EXPECT_EQ(terms.classes.count(y), 1U) << op;
  }
}

TEST(Rewrite, MergesProductsThatShareAnOperand) {
  Builder b;
  const ValueId x = b.input("x", {4, 8});
  std::vector<ValueId> outputs;
  for (const char* name : {"q", "k", "v"})
    outputs.push_back(b.node("MatMul", {x, b.constant(std::string("w") + name, {8, 5}, 1)}, name));
  const Rewritten result = rewritten(b.done(outputs));
  const Ops ops = ops_of(result.graph);
  // Concatenating weights is done once; the three parts of the product are cut by one node.
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "MatMul"), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "Split"), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "Slice"), 0);
}

TEST(Rewrite, FoldsBatchNormalizationIntoConv) {
  Builder b;
  const ValueId x = b.input("x", {1, 2, 5, 5});
  const ValueId c = b.node("Conv", {x, b.constant("w", {3, 2, 3, 3}, 1)}, "c");
  const ValueId y = b.node("BatchNormalization",
                           {c, b.constant("s", {3}, 1), b.constant("bias", {3}, 2),
                            b.constant("m", {3}, 3), b.constant("v", {3}, 4)},
                           "y");
  const Rewritten result = rewritten(b.done({y}));
  const Node& last = result.graph.nodes.back();
  EXPECT_EQ(last.op, "Conv");
  EXPECT_EQ(last.inputs.size(), 3U);
  EXPECT_DOUBLE_EQ(std::round(result.statistics.cost_after), 10);
}

TEST(Rewrite, KeepsToTheContract) {
  Builder b;
  const ValueId x = b.input("x", {4});
  const ValueId s = b.node("Add", {x, b.constant("c", {4}, 1)}, "s");
  const ValueId y = b.node("Add", {s, b.constant("d", {4}, 2)}, "y");
  const Graph graph = b.done({y});
  EXPECT_EQ(std::round(rewritten(graph, Numerics::Exact).statistics.cost_after), 2);
  EXPECT_EQ(std::round(rewritten(graph, Numerics::Rounding).statistics.cost_after), 2);
  EXPECT_EQ(std::round(rewritten(graph, Numerics::Fast).statistics.cost_after), 1);
}

TEST(Rewrite, CountsSharedNodesOnce) {
  Builder b;
  const ValueId x = b.input("x", {4});
  const ValueId e = b.node("Exp", {x}, "e");
  const ValueId p = b.node("Mul", {e, e}, "p");
  const ValueId q = b.node("Tanh", {e}, "q");
  const Rewritten result = rewritten(b.done({p, q}), Numerics::Exact);
  EXPECT_EQ(std::round(result.statistics.cost_before), 3);
  EXPECT_EQ(std::round(result.statistics.cost_after), 3);
  EXPECT_TRUE(result.statistics.is_proved_best);
}

TEST(Rewrite, KeepsOpaqueNodesSubgraphsAndNames) {
  Builder inner;
  const ValueId captured = inner.value("outside");
  inner.graph.captures.push_back({0, captured});
  const ValueId r = inner.node("Relu", {captured}, "r");
  const Graph body = inner.done({r});

  Builder b;
  const ValueId unused = b.input("unused", {1});
  const ValueId x = b.input("x", {2, 2}), condition = b.input("condition", {});
  const ValueId n = b.node("Neg", {x}, "n"), nn = b.node("Neg", {n}, "nn");
  Graph then = body;
  then.captures[0].outer = nn;
  const auto branch = std::make_shared<const Graph>(then);
  const ValueId y =
      b.node("If", {condition}, "y", {{"then_branch", branch}, {"else_branch", branch}});
  const ValueId z = b.node("Unheard", {y, x}, "z");
  const Graph result = rewritten(b.done({z, nn, x})).graph;
  EXPECT_EQ(result.inputs.size(), 3U);
  EXPECT_EQ(result.values[result.inputs[0]].name, b.graph.values[unused].name);
  EXPECT_EQ(result.values[result.outputs[0]].name, "z");
  EXPECT_EQ(result.values[result.outputs[1]].name, "nn");
  EXPECT_EQ(result.values[result.outputs[2]].name, "x");
  EXPECT_EQ(ops_of(result), (Ops{"If", "Unheard", "Identity"}));
  const auto& kept = std::get<graph::GraphPtr>(result.nodes[0].attributes.at("then_branch"));
  EXPECT_EQ(result.values[kept->captures[0].outer].name, "x");
}

TEST(Rewrite, NamesNewConstantsAfterTheirReader) {
  Builder b;
  ValueId x = b.input("x", {2});
  for (int k = 0; k < 40; ++k) {
    const std::string number = std::to_string(k);
    const ValueId low = b.constant("low_" + number, {}, -k),
                  high = b.constant("high_" + number, {}, k);
    x = b.node("Sigmoid", {b.node("Clip", {x, low, high}, "a_name_that_is_rather_long_" + number)},
               "sigmoid_" + number);
  }
  const Rewritten out = rewritten(b.done({x}));
  for (const Node& node : out.graph.nodes)
    if (node.op == "Clip") {
      const std::string& name = out.graph.values[node.outputs[0]].name;
      EXPECT_EQ(out.graph.values[node.inputs[2]].name.rfind(name + "_Clip", 0), 0U);
    }
}

TEST(Rewrite, StopsAtItsLimits) {
  Builder b;
  ValueId sum = b.input("x0", {4});
  for (int k = 1; k < 12; ++k)
    sum = b.node("Add", {sum, b.input("x" + std::to_string(k), {4})}, "s" + std::to_string(k));
  const Graph graph = b.done({sum});
  Limits limits;
  limits.nodes = 60;
  EXPECT_EQ(rewrite(graph, simple_cost, limits, Numerics::Fast)->statistics.saturation.end,
            Saturation::End::Nodes);
  limits = {};
  limits.is_over = [] { return true; };
  EXPECT_EQ(rewrite(graph, simple_cost, limits, Numerics::Rounding)->statistics.saturation.end,
            Saturation::End::Time);
}

TEST(Rewrite, RefusesACostThatIsNoNumber) {
  Builder b;
  const ValueId y = b.node("Relu", {b.input("x", {4})}, "y");
  const auto result = rewrite(
      b.done({y}), [](const Application&) { return -1.0; }, {}, Numerics::Exact);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, "K0581");
}

std::string message_of(const std::string& text) {
  const auto rules = parse_rules(make_source("my.rules", text));
  return rules ? "none" : render(rules.error());
}

TEST(Rules, SayWhatIsWrong) {
  EXPECT_EQ(message_of("rule a exact Relu(Relu(x)) -> Relu(y)").substr(0, 74),
            "error[K0580]: the text is no rule: `y` of rule `a` is not bound on the lef");
  for (const char* text :
       {"rule", "rule a", "rule a sometimes Relu(x) -> x", "rule a exact Relu(x)",
        "rule a exact Relux(x) -> x", "rule a exact Relu(x, y) -> x", "rule a exact x -> x",
        "rule a exact Transpose(x) -> x", "rule a exact Relu(x, alpha=b) -> x",
        "rule a exact Relu(x) -> x where size(x", "rule a exact Relu(x) -> x where foo(x)",
        "rule a exact Relu(x) -> x, x", "rule a exact Relu(x) -> x where rank(x, x) == 1"})
    EXPECT_EQ(message_of(text).substr(0, 13), "error[K0580]:") << text;
}

TEST(Rules, ExpandFamiliesAndDots) {
  const auto rules = parse_rules(make_source(
      "my.rules",
      "rule a exact for f in (Relu, Tanh) Concat(f(x)..., axis=k) -> f(Concat(x..., axis=k))"));
  ASSERT_TRUE(rules);
  ASSERT_EQ(rules->size(), 6U);
  EXPECT_EQ((*rules)[4].name, "a_Tanh_3");
  EXPECT_EQ(text_of((*rules)[4]),
            "Concat(Tanh(x1), Tanh(x2), Tanh(x3), axis=k) -> Tanh(Concat(x1, x2, x3, axis=k))");
}

} // namespace
} // namespace kawara::rewrite
