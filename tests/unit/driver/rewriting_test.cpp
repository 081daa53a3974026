#include "driver/model/model.h"

#include "unit/graph/graph_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kawara::driver {
namespace {

using namespace graph::graph_text;

/// Runs the graph as it is and with everything on. Returns whether rules were applied.
bool rewrites_to_the_same(const graph::Graph& graph) {
  Model plain(graph, ModelOptions{false, false, "", nullptr}), whole(graph);
  const auto inputs = plain.pattern_inputs({});
  const auto wanted = plain.run(inputs), got = whole.run(inputs);
  EXPECT_TRUE(wanted && got);
  if (!wanted || !got)
    return false;
  for (size_t k = 0; k < wanted->size(); ++k) {
    const Tensor &a = (*wanted)[k].tensor, &b = (*got)[k].tensor;
    EXPECT_EQ(a.shape(), b.shape());
    for (int64_t at = 0; at < a.elements(); ++at)
      EXPECT_NEAR(a.get_double(at), b.get_double(at),
                  1e-5 * std::max(1.0, std::abs(a.get_double(at))));
  }
  return std::any_of(whole.passes().begin(), whole.passes().end(),
                     [](const auto& pass) { return pass.name == "rewrite"; });
}

TEST(Rewriting, ProductsOfOneOperandBecomeOne) {
  EXPECT_TRUE(rewrites_to_the_same(graph_of(
      {{"q", "MatMul", {"x", "wq"}},
       {"k", "MatMul", {"x", "wk"}},
       {"v", "MatMul", {"x", "wv"}},
       {"t", "Transpose", {"k"}},
       {"s", "MatMul", {"q", "t"}},
       {"p", "Softmax", {"s"}},
       {"y", "MatMul", {"p", "v"}}},
      {{"wq", ramp({8, 6}, 0.125)}, {"wk", ramp({8, 6}, -0.0625)}, {"wv", ramp({8, 6}, 0.25)}},
      {{"x", {5, 8}}})));
}

TEST(Rewriting, TransposesMeetThroughWhatIsBetweenThem) {
  EXPECT_TRUE(rewrites_to_the_same(graph_of({{"a", "Transpose", {"x"}},
                                             {"b", "Relu", {"a"}},
                                             {"c", "Add", {"b", "one"}},
                                             {"y", "Transpose", {"c"}}},
                                            {{"one", number(1)}}, {{"x", {40, 30}}})));
}

TEST(Rewriting, ConvolutionsOfOneImageBecomeOne) {
  rewrites_to_the_same(
      graph_of({{"a", "Conv", {"x", "w1", "b1"}},
                {"b", "Conv", {"x", "w2", "b2"}},
                {"c", "Relu", {"a"}},
                {"d", "Sigmoid", {"b"}},
                {"e", "Concat", {"c", "d"}, {{"axis", int64_t{1}}}},
                {"y", "MaxPool", {"e"}, {{"kernel_shape", std::vector<int64_t>{2, 2}}}}},
               {{"w1", ramp({4, 3, 1, 1}, 0.125)},
                {"w2", ramp({6, 3, 1, 1}, -0.125)},
                {"b1", ramp({4}, 0.5)},
                {"b2", ramp({6}, -0.25)}},
               {{"x", {1, 3, 9, 8}}}));
}

TEST(Rewriting, NothingIsDoneForNothing) {
  EXPECT_FALSE(rewrites_to_the_same(graph_of({{"a", "MatMul", {"x", "w"}}, {"y", "Relu", {"a"}}},
                                             {{"w", ramp({4, 4})}}, {{"x", {3, 4}}})));
}

/// Between quantised operands and results, products of bytes give what products of floats gave.
TEST(ProductsOfBytes, AreTheSameAsThoseOfWhatTheyMean) {
  graph::Tensor weights(graph::DataType::I8, {40, 24});
  for (int64_t k = 0; k < weights.elements(); ++k)
    weights.set_int(k, k * 37 % 255 - 127);
  for (const graph::Shape& columns : {graph::Shape{}, graph::Shape{24}}) {
    graph::Tensor zero(graph::DataType::I8, columns);
    for (int64_t k = 0; k < zero.elements(); ++k)
      zero.set_int(k, k % 5 - 2);
    const auto graph = graph_of({{"q", "QuantizeLinear", {"x", "s", "z"}},
                                 {"a", "DequantizeLinear", {"q", "s", "z"}},
                                 {"b", "DequantizeLinear", {"w", "t", "zw"}},
                                 {"y", "MatMul", {"a", "b"}}},
                                {{"s", number(0.01)},
                                 {"z", number(117, graph::DataType::U8)},
                                 {"w", weights},
                                 {"t", ramp(columns, 0.01)},
                                 {"zw", zero}},
                                {{"x", {3, 16, 40}}});
    rewrites_to_the_same(graph);
  }
}

} // namespace
} // namespace kawara::driver
