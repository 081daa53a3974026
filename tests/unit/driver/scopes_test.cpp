// Names in subgraphs: which value they mean, by what comes out.
#include "driver/check/reference.h"
#include "driver/model/model.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "unit/graph/onnx_bytes.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kawara::driver {
namespace {

using namespace onnx_bytes;
using run::Datum;

constexpr int kBool = 9;

std::string float_element(const std::string& name, float value) {
  std::string raw(sizeof value, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  return tensor(name, kFloat, {1}, raw);
}

std::string one_element(const std::string& name, int type = kFloat) {
  return value(name, type, {1});
}

std::string if_node(const std::string& result, const Parts& then, const Parts& otherwise) {
  return node("If", {"c"}, {result},
              graph_attribute("then_branch", then) + graph_attribute("else_branch", otherwise));
}

graph::Graph imported(const std::string& bytes) {
  auto graph = graph::graph_from_onnx(bytes, "model.onnx", "");
  EXPECT_TRUE(graph) << render(graph.error());
  return graph ? *std::move(graph) : graph::Graph();
}

/// The first output for x = 3 and a condition, the same by the interpreter, by compiled code, and
/// after the graph was written and read again.
double result_of(const Parts& parts, bool condition) {
  run::Tensor x(graph::DataType::F32, {1}), c(graph::DataType::Bool, {1});
  x.set_double(0, 3);
  c.set_int(0, condition ? 1 : 0);
  const graph::Graph graph = imported(model(parts));
  const std::vector<std::string> broken = graph::spec(graph);
  EXPECT_TRUE(broken.empty()) << broken.front();
  if (graph.outputs.empty())
    return -1;
  std::vector<double> all;
  const auto written = graph::onnx_from_graph(graph);
  EXPECT_TRUE(written);
  for (const graph::Graph& each : {graph, imported(*written)}) {
    const auto reference = interpret(each, {{c, false, {}}, {x, false, {}}});
    EXPECT_TRUE(reference) << render(reference.error());
    const auto compiled = Model(each).run({{"c", {c, false, {}}}, {"x", {x, false, {}}}});
    EXPECT_TRUE(compiled) << render(compiled.error());
    all.push_back(reference->front().tensor.get_double(0));
    all.push_back(compiled->front().tensor.get_double(0));
  }
  for (const double each : all)
    EXPECT_EQ(each, all.front());
  return all.front();
}

Parts net_of(std::vector<std::string> nodes, const std::string& output,
             std::vector<std::string> initializers = {}) {
  return {std::move(nodes),
          std::move(initializers),
          {one_element("c", kBool), one_element("x")},
          {one_element(output)}};
}

TEST(Scopes, ABranchMayHaveAValueWithTheNameOfTheResult) {
  // As a merged decoder has it: the inner value and the result of the If are both called y.
  const Parts then{
      {node("Neg", {"x"}, {"y"}), node("Abs", {"y"}, {"z"})}, {}, {}, {one_element("z")}};
  const Parts otherwise{{node("Neg", {"x"}, {"y"})}, {}, {}, {one_element("y")}};
  const Parts parts = net_of({if_node("y", then, otherwise), node("Neg", {"y"}, {"out"})}, "out");
  EXPECT_EQ(result_of(parts, true), -3);
  EXPECT_EQ(result_of(parts, false), 3);
}

TEST(Scopes, ABranchMayHaveANameThatIsMadeLaterOutside) {
  const Parts then{
      {node("Neg", {"x"}, {"later"}), node("Neg", {"later"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts otherwise{{node("Neg", {"x"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts parts =
      net_of({if_node("y", then, otherwise), node("Neg", {"y"}, {"later"}),
              node("Add", {"later", "y"}, {"twice"}), node("Sub", {"twice", "x"}, {"out"})},
             "out");
  EXPECT_EQ(result_of(parts, true), -3);
  EXPECT_EQ(result_of(parts, false), -3);
}

TEST(Scopes, InitializersOfABranchHideThoseOutside) {
  const Parts then{
      {node("Mul", {"x", "w"}, {"r"})}, {float_element("w", 5)}, {}, {one_element("r")}};
  const Parts otherwise{{node("Mul", {"x", "w"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts parts = net_of({if_node("y", then, otherwise), node("Add", {"y", "w"}, {"out"})},
                             "out", {float_element("w", 2)});
  EXPECT_EQ(result_of(parts, true), 17);
  EXPECT_EQ(result_of(parts, false), 8);
}

TEST(Scopes, ANameReadBeforeItIsHiddenMeansTheOneOutside) {
  // h is 2x = 6 outside; the branch reads that, then has an h of its own, 36.
  const Parts then{{node("Mul", {"h", "h"}, {"k"}), node("Identity", {"k"}, {"h"}),
                    node("Add", {"h", "x"}, {"r"})},
                   {},
                   {},
                   {one_element("r")}};
  const Parts otherwise{{node("Identity", {"h"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts parts = net_of({node("Add", {"x", "x"}, {"h"}), if_node("y", then, otherwise),
                              node("Add", {"y", "h"}, {"out"})},
                             "out");
  EXPECT_EQ(result_of(parts, true), 45);
  EXPECT_EQ(result_of(parts, false), 12);
}

TEST(Scopes, NestedSubgraphsHaveScopesOfTheirOwn) {
  // All three levels have a value called t: 6 outside, 9 in the middle, -9 inside.
  const Parts inside{
      {node("Neg", {"t"}, {"s"}), node("Identity", {"s"}, {"t"})}, {}, {}, {one_element("t")}};
  const Parts plain{{node("Identity", {"t"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts middle{{node("Add", {"t", "x"}, {"m"}), node("Identity", {"m"}, {"t"}),
                      if_node("n", inside, plain), node("Add", {"n", "t"}, {"r"})},
                     {},
                     {},
                     {one_element("r")}};
  const Parts parts = net_of({node("Add", {"x", "x"}, {"t"}), if_node("y", middle, plain),
                              node("Add", {"y", "t"}, {"out"})},
                             "out");
  EXPECT_EQ(result_of(parts, true), 6);
  EXPECT_EQ(result_of(parts, false), 12);
}

TEST(Scopes, ALoopMayCallItsOwnValuesLikeThoseOutside) {
  // Three rounds of s = -(s + x); inputs and results of the body have names from outside.
  const Parts body{{node("Add", {"x", "k"}, {"y"}), node("Neg", {"y"}, {"out"})},
                   {},
                   {one_element("i", kInt64), one_element("c", kBool), one_element("x")},
                   {one_element("c", kBool), one_element("out")}};
  std::string three(8, '\0');
  three[0] = 3;
  Parts parts = net_of({node("Identity", {"x"}, {"k"}),
                        node("Loop", {"n", "", "x"}, {"y"}, graph_attribute("body", body)),
                        node("Add", {"y", "x"}, {"out"})},
                       "out");
  parts.initializers = {tensor("n", kInt64, {}, three)};
  EXPECT_EQ(result_of(parts, true), -3); // 3, -6, 3, -6; and 3
}

TEST(Scopes, AScanMayCallItsOwnValuesLikeThoseOutside) {
  // The state takes the scanned element twice; the body calls both results like values outside.
  const Parts body{{node("Add", {"x", "e"}, {"out"}), node("Add", {"out", "e"}, {"y"})},
                   {},
                   {one_element("x"), one_element("e")},
                   {one_element("y"), one_element("out")}};
  const Parts parts =
      net_of({node("Add", {"x", "x"}, {"two"}), node("Unsqueeze", {"two", "zero"}, {"e"}),
              node("Scan", {"x", "e"}, {"y", "all"},
                   graph_attribute("body", body) + integer_attribute("num_scan_inputs", 1)),
              node("Add", {"y", "x"}, {"out"})},
             "out", {tensor("zero", kInt64, {1}, std::string(8, '\0'))});
  EXPECT_EQ(result_of(parts, true), 18); // 3 + 6 + 6, and 3
}

TEST(Scopes, ABranchThatNeedsTheResultIsACycle) {
  const Parts then{{node("Neg", {"y"}, {"r"})}, {}, {}, {one_element("r")}};
  const Parts parts = net_of({if_node("y", then, then)}, "y");
  const auto graph = graph::graph_from_onnx(model(parts), "model.onnx", "");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "K0502");
  EXPECT_NE(graph.error().headline.find("cycle"), std::string::npos);
}

TEST(Scopes, UnsortedSubgraphsAreBroughtIntoOrder) {
  const Parts then{
      {node("Neg", {"a"}, {"r"}), node("Neg", {"x"}, {"a"})}, {}, {}, {one_element("r")}};
  EXPECT_EQ(result_of(net_of({node("Neg", {"y"}, {"out"}), if_node("y", then, then)}, "out"), true),
            -3);
}

} // namespace
} // namespace kawara::driver
