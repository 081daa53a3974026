#include "run/functions/function.h"
#include "support/hash.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace kawara::run {
namespace {

/// Numbers with repetitions, both zeros, infinities and NaN among them.
float drawn(uint64_t& state) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kSpecial[] = {0.0f, -0.0f, kInfinity, -kInfinity, NAN};
  state = hash_mix(state, 1);
  return state % 8 == 0 ? kSpecial[state / 8 % 5] : static_cast<float>(state / 8 % 40) - 20;
}

bool is_below(float a, float b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

Outputs apply(const std::string& op, std::vector<Tensor> inputs,
              const std::map<std::string, int64_t>& integers) {
  graph::Node node;
  node.op = op;
  for (const auto& [name, value] : integers)
    node.attributes[name] = value;
  FunctionCall call{node, 18, {}};
  for (Tensor& t : inputs)
    call.inputs.push_back({std::move(t), false, {}});
  return find_function(op)->call(call);
}

Tensor integers(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor t(DataType::I64, shape);
  std::copy(values.begin(), values.end(), t.as<int64_t>());
  return t;
}

/// Few of many, many, all and none; along the last axis and another.
TEST(TopK, chooses_what_a_stable_sort_puts_first) {
  uint64_t state = 7;
  for (const int64_t n : {1, 5, 33, 200, 1000})
    for (const int64_t k : {int64_t{0}, int64_t{1}, n / 10, n / 2, n})
      for (const int64_t inner : {1, 3})
        for (const int64_t largest : {0, 1}) {
          Tensor x(DataType::F32, {2, n, inner});
          for (int64_t i = 0; i < x.elements(); ++i)
            x.as<float>()[i] = drawn(state);
          const auto out =
              apply("TopK", {x, integers({1}, {k})}, {{"axis", 1}, {"largest", largest}});
          ASSERT_TRUE(out) << out.error();
          for (int64_t a = 0; a < 2; ++a)
            for (int64_t c = 0; c < inner; ++c) {
              const auto at = [&](int64_t i) { return x.as<float>()[(a * n + i) * inner + c]; };
              std::vector<int64_t> order(static_cast<size_t>(n));
              std::iota(order.begin(), order.end(), 0);
              std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
                return largest != 0 ? is_below(at(j), at(i)) : is_below(at(i), at(j));
              });
              for (int64_t i = 0; i < k; ++i) {
                const int64_t place = (*out)[1].tensor.as<int64_t>()[(a * k + i) * inner + c];
                ASSERT_EQ(place, order[static_cast<size_t>(i)]) << n << " " << k << " " << i;
                const float value = (*out)[0].tensor.as<float>()[(a * k + i) * inner + c];
                ASSERT_TRUE(value == at(place) || (std::isnan(value) && std::isnan(at(place))));
              }
            }
        }
}

TEST(GatherElements, takes_indices_along_any_axis) {
  Tensor data(DataType::I32, {3, 4, 5});
  std::iota(data.as<int32_t>(), data.as<int32_t>() + data.elements(), 0);
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Shape shape = {2, 3, 4}; // fewer than the data has
    Tensor indices(DataType::I64, shape);
    for (int64_t k = 0; k < indices.elements(); ++k)
      indices.as<int64_t>()[k] = k % 5 - 2; // some counted from the end
    const auto out = apply("GatherElements", {data, indices}, {{"axis", axis}});
    ASSERT_TRUE(out) << out.error();
    const int64_t extent = data.shape()[static_cast<size_t>(axis)];
    for (int64_t k = 0; k < indices.elements(); ++k) {
      std::vector<int64_t> at = {k / 12, k / 4 % 3, k % 4};
      const int64_t index = indices.as<int64_t>()[k];
      at[static_cast<size_t>(axis)] = index < 0 ? index + extent : index;
      ASSERT_EQ((*out)[0].tensor.as<int32_t>()[k], (at[0] * 4 + at[1]) * 5 + at[2]) << axis;
    }
  }
  const auto outside = apply("GatherElements", {data, integers({1, 1, 1}, {7})}, {{"axis", 0}});
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error(), "index 7 is outside a dimension of 3");
}

} // namespace
} // namespace kawara::run
