#include "driver/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>

// Operators of the standard's newer versions, of which its older test cases know nothing.

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;

Tensor counted_cells(const Shape& shape, int64_t seed) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.cells(); ++k)
    tensor.set_double(k, static_cast<double>((k * 37 + seed * 11) % 23 - 11) / 8);
  return tensor;
}

struct AttentionCase {
  int64_t batch = 2, q_heads = 4, kv_heads = 2, queries = 3, keys = 5, past = 0, cells = 8,
          values = 6;
  bool is_flat = false, is_causal = false;
  DataType mask = DataType::F64; ///< f64: none
};

/// Cell of [batch, heads, rows, cells], also where heads lie side by side in a row.
double cell_of(const Tensor& t, bool is_flat, int64_t heads, int64_t b, int64_t h, int64_t r,
               int64_t c, int64_t rows, int64_t cells) {
  const int64_t at =
      is_flat ? ((b * rows + r) * heads + h) * cells + c : ((b * heads + h) * rows + r) * cells + c;
  return t.get_double(at);
}

void expect_attention(const AttentionCase& a) {
  const auto shape = [&](int64_t heads, int64_t rows, int64_t cells) {
    return a.is_flat ? Shape{a.batch, rows, heads * cells} : Shape{a.batch, heads, rows, cells};
  };
  std::map<std::string, Datum> inputs;
  Builder b("net");
  std::vector<ValueId> operands;
  const auto input = [&](const std::string& name, Tensor tensor) {
    operands.push_back(b.input(name, tensor.type(), graph::dims_of(tensor.shape())));
    inputs[name] = {tensor, false, {}};
    return tensor;
  };
  const int64_t all = a.past + a.keys, group = a.q_heads / a.kv_heads;
  const Tensor q = input("q", counted_cells(shape(a.q_heads, a.queries, a.cells), 1));
  const Tensor k = input("k", counted_cells(shape(a.kv_heads, a.keys, a.cells), 2));
  const Tensor v = input("v", counted_cells(shape(a.kv_heads, a.keys, a.values), 3));
  Tensor mask, old_keys, old_values;
  if (a.mask != DataType::F64) {
    mask = Tensor(a.mask, {a.queries, all});
    for (int64_t c = 0; c < mask.cells(); ++c)
      mask.set_double(c, c % 3 == 1 ? 0 : 1);
    mask = input("mask", mask);
  } else if (a.past > 0) {
    operands.push_back(graph::kAbsent);
  }
  if (a.past > 0) {
    old_keys = input("old_keys", counted_cells({a.batch, a.kv_heads, a.past, a.cells}, 4));
    old_values = input("old_values", counted_cells({a.batch, a.kv_heads, a.past, a.values}, 5));
  }
  graph::Attributes attributes{{"is_causal", int64_t{a.is_causal}}};
  if (a.is_flat) {
    attributes["q_num_heads"] = a.q_heads;
    attributes["kv_num_heads"] = a.kv_heads;
  }
  b.output(b.add("Attention", "y", operands, attributes), DataType::F32, {});
  Model model(b.take());
  const auto results = model.run(inputs);
  ASSERT_TRUE(results) << render(results.error());
  const auto key = [&](int64_t n, int64_t h, int64_t j, int64_t c, bool is_value) {
    const int64_t cells = is_value ? a.values : a.cells;
    if (j < a.past)
      return cell_of(is_value ? old_values : old_keys, false, a.kv_heads, n, h, j, c, a.past,
                     cells);
    return cell_of(is_value ? v : k, a.is_flat, a.kv_heads, n, h, j - a.past, c, a.keys, cells);
  };
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t h = 0; h < a.q_heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < all; ++j) {
          double score = 0;
          for (int64_t c = 0; c < a.cells; ++c)
            score += cell_of(q, a.is_flat, a.q_heads, n, h, i, c, a.queries, a.cells) *
                     key(n, h / group, j, c, false);
          score /= std::sqrt(static_cast<double>(a.cells));
          if (a.mask == DataType::F32)
            score += mask.get_double(i * all + j);
          const bool is_out = (a.is_causal && j > i) ||
                              (a.mask == DataType::Bool && mask.get_double(i * all + j) == 0);
          weights.push_back(is_out ? 0 : std::exp(score));
          sum += weights.back();
        }
        for (int64_t c = 0; c < a.values; ++c) {
          double wanted = 0;
          for (int64_t j = 0; j < all; ++j)
            wanted += weights[static_cast<size_t>(j)] / sum * key(n, h / group, j, c, true);
          EXPECT_NEAR(
              cell_of((*results)[0].tensor, a.is_flat, a.q_heads, n, h, i, c, a.queries, a.values),
              wanted, 1e-5);
        }
      }
}

TEST(Attention, IsWhatItsPartsAre) {
  for (const bool is_flat : {false, true}) {
    AttentionCase plain;
    plain.is_flat = is_flat;
    expect_attention(plain);
    AttentionCase causal = plain;
    causal.is_causal = true;
    expect_attention(causal);
    for (const DataType mask : {DataType::F32, DataType::Bool}) {
      AttentionCase masked = plain;
      masked.mask = mask;
      expect_attention(masked);
    }
    AttentionCase cached = plain;
    cached.past = 4;
    expect_attention(cached);
  }
}

TEST(Attention, RefusesHeadsThatDoNotFit) {
  Builder b("net");
  const ValueId q = b.input("q", DataType::F32, graph::dims_of({1, 3, 4, 8}));
  const ValueId k = b.input("k", DataType::F32, graph::dims_of({1, 2, 4, 8}));
  b.output(b.add("Attention", "y", {q, k, k}), DataType::F32, {});
  Model model(b.take());
  const auto results = model.run(model.pattern_inputs({}));
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, "K0511");
}

TEST(RotaryEmbedding, TurnsPairs) {
  for (const bool is_flat : {false, true})
    for (const bool alternates : {false, true}) {
      const int64_t batch = 2, heads = 3, rows = 4, cells = 10, turned = 8, half = 4;
      Builder b("net");
      const Tensor x = counted_cells(
          is_flat ? Shape{batch, rows, heads * cells} : Shape{batch, heads, rows, cells}, 1);
      const Tensor cosines = counted_cells({batch, rows, half}, 2);
      const Tensor sines = counted_cells({batch, rows, half}, 3);
      std::map<std::string, Datum> inputs{
          {"x", {x, false, {}}}, {"c", {cosines, false, {}}}, {"s", {sines, false, {}}}};
      std::vector<ValueId> operands;
      for (const char* name : {"x", "c", "s"})
        operands.push_back(
            b.input(name, DataType::F32, graph::dims_of(inputs[name].tensor.shape())));
      b.output(b.add("RotaryEmbedding", "y", operands,
                     {{"interleaved", int64_t{alternates}},
                      {"rotary_embedding_dim", turned},
                      {"num_heads", is_flat ? heads : int64_t{0}}}),
               DataType::F32, {});
      Model model(b.take());
      const auto results = model.run(inputs);
      ASSERT_TRUE(results) << render(results.error());
      for (int64_t k = 0; k < batch * heads * rows * cells; ++k) {
        const int64_t c = k % cells, i = k / cells % rows, h = k / cells / rows % heads,
                      n = k / cells / rows / heads;
        const auto at = [&](const Tensor& t, int64_t cell) {
          return cell_of(t, is_flat, heads, n, h, i, cell, rows, cells);
        };
        const int64_t pair = alternates ? c / 2 : c % half;
        const int64_t one = alternates ? 2 * pair : pair, two = alternates ? one + 1 : one + half;
        const double cosine = cosines.get_double((n * rows + i) * half + pair % half),
                     sine = sines.get_double((n * rows + i) * half + pair % half);
        const double wanted = c >= turned ? at(x, c)
                              : c == one  ? at(x, one) * cosine - at(x, two) * sine
                                          : at(x, one) * sine + at(x, two) * cosine;
        EXPECT_NEAR(at((*results)[0].tensor, c), wanted, 1e-5) << k;
      }
    }
}

} // namespace
} // namespace kawara::driver
