#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

// Operators of the standard's newer versions, of which its older test cases know nothing.

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;

Tensor counted_elements(const Shape& shape, int64_t seed) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, static_cast<double>((k * 37 + seed * 11) % 23 - 11) / 8);
  return tensor;
}

struct AttentionCase {
  int64_t batch = 2, q_heads = 4, kv_heads = 2, queries = 3, keys = 5, past = 0, elements = 8,
          values = 6;
  bool is_flat = false, is_causal = false;
  DataType mask = DataType::F64; ///< f64: none
  double cap = 0;
  int64_t mode = -1; ///< of the fourth output; -1: none
  int64_t used = 0;  ///< keys of the first batch that count; 0: all
};

/// Element of [batch, heads, rows, elements], also where heads lie side by side in a row.
double element_of(const Tensor& t, bool is_flat, int64_t heads, int64_t b, int64_t h, int64_t r,
                  int64_t c, int64_t rows, int64_t elements) {
  const int64_t at = is_flat ? ((b * rows + r) * heads + h) * elements + c
                             : ((b * heads + h) * rows + r) * elements + c;
  return t.get_double(at);
}

void expect_attention(const AttentionCase& a) {
  const auto shape = [&](int64_t heads, int64_t rows, int64_t elements) {
    return a.is_flat ? Shape{a.batch, rows, heads * elements}
                     : Shape{a.batch, heads, rows, elements};
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
  const Tensor q = input("q", counted_elements(shape(a.q_heads, a.queries, a.elements), 1));
  const Tensor k = input("k", counted_elements(shape(a.kv_heads, a.keys, a.elements), 2));
  const Tensor v = input("v", counted_elements(shape(a.kv_heads, a.keys, a.values), 3));
  Tensor mask, old_keys, old_values;
  if (a.mask != DataType::F64) {
    mask = Tensor(a.mask, {a.queries, all});
    for (int64_t c = 0; c < mask.elements(); ++c)
      mask.set_double(c, c % 3 == 1 ? 0 : 1);
    mask = input("mask", mask);
  } else if (a.past > 0 || a.used > 0) {
    operands.push_back(graph::kAbsent);
  }
  if (a.past > 0) {
    old_keys = input("old_keys", counted_elements({a.batch, a.kv_heads, a.past, a.elements}, 4));
    old_values = input("old_values", counted_elements({a.batch, a.kv_heads, a.past, a.values}, 5));
  }
  if (a.used > 0) {
    operands.insert(operands.end(), 2, graph::kAbsent);
    Tensor used(DataType::I64, {a.batch});
    for (int64_t n = 0; n < a.batch; ++n)
      used.set_int(n, n == 0 ? a.used : all);
    input("used", used);
  }
  graph::Attributes attributes{{"is_causal", int64_t{a.is_causal}}, {"softcap", a.cap}};
  if (a.is_flat) {
    attributes["q_num_heads"] = a.q_heads;
    attributes["kv_num_heads"] = a.kv_heads;
  }
  if (a.mode >= 0)
    attributes["qk_matmul_output_mode"] = a.mode;
  const auto made = b.add_many("Attention", "y", operands, a.mode >= 0 ? 4 : 1, attributes);
  b.output(made.front(), DataType::F32, {});
  if (a.mode >= 0)
    b.output(made.back(), DataType::F32, {});
  Model model(b.take());
  const auto results = model.run(inputs);
  ASSERT_TRUE(results) << render(results.error());
  const auto key = [&](int64_t n, int64_t h, int64_t j, int64_t c, bool is_value) {
    const int64_t elements = is_value ? a.values : a.elements;
    if (j < a.past)
      return element_of(is_value ? old_values : old_keys, false, a.kv_heads, n, h, j, c, a.past,
                        elements);
    return element_of(is_value ? v : k, a.is_flat, a.kv_heads, n, h, j - a.past, c, a.keys,
                      elements);
  };
  for (int64_t n = 0; n < a.batch; ++n)
    for (int64_t h = 0; h < a.q_heads; ++h)
      for (int64_t i = 0; i < a.queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        std::vector<std::array<double, 3>> steps;
        for (int64_t j = 0; j < all; ++j) {
          double score = 0;
          for (int64_t c = 0; c < a.elements; ++c)
            score += element_of(q, a.is_flat, a.q_heads, n, h, i, c, a.queries, a.elements) *
                     key(n, h / group, j, c, false);
          score /= std::sqrt(static_cast<double>(a.elements));
          steps.push_back({score, score, score});
          if (a.cap != 0)
            score = steps.back()[1] = a.cap * std::tanh(score / a.cap);
          if (a.mask == DataType::F32)
            score += mask.get_double(i * all + j);
          const int64_t before = a.used == 0 ? a.past : (n == 0 ? a.used : all) - a.queries;
          const bool is_out = (a.is_causal && j > i + before) ||
                              (a.used > 0 && n == 0 && j >= a.used) ||
                              (a.mask == DataType::Bool && mask.get_double(i * all + j) == 0);
          steps.back()[2] = is_out ? -std::numeric_limits<double>::infinity() : score;
          weights.push_back(is_out ? 0 : std::exp(score));
          sum += weights.back();
        }
        for (int64_t j = 0; a.mode >= 0 && j < all; ++j) {
          const auto at = static_cast<size_t>(j);
          const double wanted =
              a.mode == 3 ? weights[at] / sum : steps[at][static_cast<size_t>(a.mode)];
          const double got =
              (*results)[1].tensor.get_double(((n * a.q_heads + h) * a.queries + i) * all + j);
          if (std::isinf(wanted))
            EXPECT_EQ(got, wanted);
          else
            EXPECT_NEAR(got, wanted, 1e-5);
        }
        for (int64_t c = 0; c < a.values; ++c) {
          double wanted = 0;
          for (int64_t j = 0; j < all; ++j)
            wanted += weights[static_cast<size_t>(j)] / sum * key(n, h / group, j, c, true);
          EXPECT_NEAR(element_of((*results)[0].tensor, a.is_flat, a.q_heads, n, h, i, c, a.queries,
                                 a.values),
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
    cached.is_causal = true;
    expect_attention(cached);
    AttentionCase one = plain;
    one.batch = one.queries = 1;
    one.q_heads = one.kv_heads;
    expect_attention(one);
  }
}

TEST(Attention, CapsBeforeItHides) {
  for (const DataType mask : {DataType::F32, DataType::Bool}) {
    AttentionCase capped;
    capped.cap = 1.5;
    capped.mask = mask;
    expect_attention(capped);
  }
}

TEST(Attention, ShowsItsScores) {
  for (int64_t mode = 0; mode < 4; ++mode)
    for (const bool is_flat : {false, true}) {
      AttentionCase shown;
      shown.mode = mode;
      shown.is_flat = is_flat;
      shown.cap = 1.5;
      shown.is_causal = true;
      shown.past = is_flat ? 2 : 0;
      shown.mask = DataType::F32;
      expect_attention(shown);
    }
}

TEST(Attention, StopsAtTheLastKeyInUse) {
  for (const bool is_causal : {false, true}) {
    AttentionCase part;
    part.used = 4;
    part.is_causal = is_causal;
    expect_attention(part);
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
      const int64_t batch = 2, heads = 3, rows = 4, elements = 10, transposed = 8, half = 4;
      Builder b("net");
      const Tensor x = counted_elements(
          is_flat ? Shape{batch, rows, heads * elements} : Shape{batch, heads, rows, elements}, 1);
      const Tensor cosines = counted_elements({batch, rows, half}, 2);
      const Tensor sines = counted_elements({batch, rows, half}, 3);
      std::map<std::string, Datum> inputs{
          {"x", {x, false, {}}}, {"c", {cosines, false, {}}}, {"s", {sines, false, {}}}};
      std::vector<ValueId> operands;
      for (const char* name : {"x", "c", "s"})
        operands.push_back(
            b.input(name, DataType::F32, graph::dims_of(inputs[name].tensor.shape())));
      b.output(b.add("RotaryEmbedding", "y", operands,
                     {{"interleaved", int64_t{alternates}},
                      {"rotary_embedding_dim", transposed},
                      {"num_heads", is_flat ? heads : int64_t{0}}}),
               DataType::F32, {});
      Model model(b.take());
      const auto results = model.run(inputs);
      ASSERT_TRUE(results) << render(results.error());
      for (int64_t k = 0; k < batch * heads * rows * elements; ++k) {
        const int64_t c = k % elements, i = k / elements % rows, h = k / elements / rows % heads,
                      n = k / elements / rows / heads;
        const auto at = [&](const Tensor& t, int64_t element) {
          return element_of(t, is_flat, heads, n, h, i, element, rows, elements);
        };
        const int64_t pair = alternates ? c / 2 : c % half;
        const int64_t one = alternates ? 2 * pair : pair, two = alternates ? one + 1 : one + half;
        const double cosine = cosines.get_double((n * rows + i) * half + pair % half),
                     sine = sines.get_double((n * rows + i) * half + pair % half);
        const double wanted = c >= transposed ? at(x, c)
                              : c == one      ? at(x, one) * cosine - at(x, two) * sine
                                              : at(x, one) * sine + at(x, two) * cosine;
        EXPECT_NEAR(at((*results)[0].tensor, c), wanted, 1e-5) << k;
      }
    }
}

TEST(RotaryEmbedding, LooksPositionsUp) {
  const int64_t batch = 2, heads = 2, rows = 3, elements = 4, half = 2, places = 6;
  const Tensor x = counted_elements({batch, heads, rows, elements}, 1);
  const Tensor cosines = counted_elements({places, half}, 2),
               sines = counted_elements({places, half}, 3);
  const auto run = [&](const std::vector<int64_t>& at) {
    Tensor positions(DataType::I64, {batch, rows});
    for (int64_t k = 0; k < batch * rows; ++k)
      positions.set_int(k, at[static_cast<size_t>(k)]);
    std::map<std::string, Datum> inputs{{"x", {x, false, {}}},
                                        {"c", {cosines, false, {}}},
                                        {"s", {sines, false, {}}},
                                        {"p", {positions, false, {}}}};
    Builder b("net");
    std::vector<ValueId> operands;
    for (const char* name : {"x", "c", "s", "p"})
      operands.push_back(
          b.input(name, inputs[name].tensor.type(), graph::dims_of(inputs[name].tensor.shape())));
    b.output(b.add("RotaryEmbedding", "y", operands), DataType::F32, {});
    return Model(b.take()).run(inputs);
  };
  const std::vector<int64_t> at{5, 0, 2, 1, 1, 4};
  const auto results = run(at);
  ASSERT_TRUE(results) << render(results.error());
  for (int64_t k = 0; k < x.elements(); ++k) {
    const int64_t c = k % elements, i = k / elements % rows, n = k / elements / rows / heads;
    const int64_t place = at[static_cast<size_t>(n * rows + i)], pair = c % half;
    const double cosine = cosines.get_double(place * half + pair),
                 sine = sines.get_double(place * half + pair);
    const double one = x.get_double(k - c + pair), two = x.get_double(k - c + pair + half);
    EXPECT_NEAR((*results)[0].tensor.get_double(k),
                c < half ? one * cosine - two * sine : one * sine + two * cosine, 1e-5);
  }
  const auto refused = run({5, 0, 6, 1, 1, 4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "K0511");
}

} // namespace
} // namespace kawara::driver
