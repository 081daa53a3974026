#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

// Attention that is written out computes the same in parts and as one node.

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::optimise::AttentionUse;

enum class MaskKind : uint8_t { None, Row, Causal, Choice };

struct WrittenOut {
  bool is_flat = true, turns_keys_at_once = true, keeps_keys = false;
  MaskKind mask = MaskKind::None;
  int64_t batch = 2, heads = 3, rows = 5, elements = 8;
};

Tensor causal_elements(int64_t rows) {
  Tensor tensor(DataType::F32, {1, 1, rows, rows});
  for (int64_t k = 0; k < rows * rows; ++k)
    tensor.set_double(k, k % rows > k / rows ? -std::numeric_limits<double>::infinity() : 0);
  return tensor;
}

Tensor one_number(double value) {
  Tensor tensor(DataType::F32, {});
  tensor.set_double(0, value);
  return tensor;
}

ValueId operand(Builder& b, const WrittenOut& w, const std::string& name, bool is_key) {
  const Shape apart{w.batch, w.rows, w.heads, w.elements},
      flat{w.batch, w.rows, w.heads * w.elements};
  const auto turn = [&](const std::string& as, ValueId x, std::vector<int64_t> order) {
    return b.add("Transpose", as, {x}, {{"perm", std::move(order)}});
  };
  if (!w.is_flat) {
    const ValueId x =
        b.input(name, DataType::F32, graph::dims_of({w.batch, w.heads, w.rows, w.elements}));
    return is_key ? turn(name + ".t", x, {0, 1, 3, 2}) : x;
  }
  const ValueId x = b.add(
      "Reshape", name + ".r",
      {b.input(name, DataType::F32, graph::dims_of(flat)), b.integers(name + ".shape", apart)});
  if (is_key && w.turns_keys_at_once)
    return turn(name + ".t", x, {0, 2, 3, 1});
  const ValueId swapped = turn(name + ".h", x, {0, 2, 1, 3});
  if (is_key && w.keeps_keys)
    b.output(swapped, DataType::F32, {});
  return is_key ? turn(name + ".t", swapped, {0, 1, 3, 2}) : swapped;
}

graph::Graph written_out(const WrittenOut& w) {
  Builder b("attention");
  const ValueId q = operand(b, w, "q", false), k = operand(b, w, "k", true),
                v = operand(b, w, "v", false);
  ValueId s = b.add("MatMul", "scores", {q, k});
  s = b.add("Div", "scaled", {s, b.constant("root", one_number(2.5))});
  if (w.mask == MaskKind::Row)
    s = b.add("Add", "masked",
              {s, b.input("mask", DataType::F32, graph::dims_of({w.batch, 1, 1, w.rows}))});
  if (w.mask == MaskKind::Causal)
    s = b.add("Add", "masked", {s, b.constant("mask", causal_elements(w.rows))});
  if (w.mask == MaskKind::Choice)
    s = b.add("Where", "masked",
              {b.input("mask", DataType::Bool, graph::dims_of({w.batch, 1, 1, w.rows})), s,
               b.constant("low", one_number(-3e38))});
  s = b.add("Softmax", "weights", {s}, {{"axis", int64_t{-1}}});
  ValueId y = b.add("MatMul", "mixed", {s, v});
  if (w.is_flat) {
    y = b.add("Transpose", "back", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    y = b.add("Reshape", "y", {y, b.integers("flat", {w.batch, w.rows, w.heads * w.elements})});
  }
  b.output(y, DataType::F32, {});
  return b.take();
}

void expect_same(const WrittenOut& w) {
  std::vector<std::vector<Datum>> results;
  for (const AttentionUse use : {AttentionUse::Never, AttentionUse::Always}) {
    ModelOptions options;
    options.graph.attention = use;
    Model model(written_out(w), options);
    const auto count =
        std::count_if(model.graph().nodes.begin(), model.graph().nodes.end(),
                      [](const graph::Node& node) { return node.op == "Attention"; });
    EXPECT_EQ(count, use == AttentionUse::Always ? 1 : 0) << graph::print(model.graph());
    auto got = model.run(model.pattern_inputs({}));
    ASSERT_TRUE(got) << render(got.error());
    results.push_back(*std::move(got));
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  for (size_t k = 0; k < results[0].size(); ++k) {
    const Tensor &parts = results[0][k].tensor, &whole = results[1][k].tensor;
    ASSERT_EQ(parts.shape(), whole.shape());
    for (int64_t c = 0; c < parts.elements(); ++c)
      EXPECT_NEAR(parts.get_double(c), whole.get_double(c), 1e-5) << k << " " << c;
  }
}

TEST(WrittenOutAttention, IsTheSameAsOneNode) {
  for (const MaskKind mask : {MaskKind::None, MaskKind::Row, MaskKind::Causal, MaskKind::Choice})
    for (const bool is_flat : {false, true}) {
      WrittenOut w;
      w.is_flat = is_flat;
      w.mask = mask;
      expect_same(w);
    }
}

TEST(WrittenOutAttention, LeavesKeysThatAreAResult) {
  WrittenOut w;
  w.turns_keys_at_once = false;
  w.keeps_keys = true;
  expect_same(w);
}

TEST(WrittenOutAttention, IsTakenWhereTransposesGo) {
  WrittenOut w;
  w.batch = 1;
  w.heads = 12;
  w.rows = 128;
  w.elements = 64;
  Model model(written_out(w));
  ASSERT_EQ(model.notes().size(), 1U);
  EXPECT_NE(model.notes()[0].find("one node"), std::string::npos) << model.notes()[0];
}

} // namespace
} // namespace kawara::driver
