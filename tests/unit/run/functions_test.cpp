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

/// Few of many, many, all and none; along the last axis and another, with rows side by side in
/// blocks and beside them.
TEST(TopK, chooses_what_a_stable_sort_puts_first) {
  uint64_t state = 7;
  for (const int64_t n : {1, 5, 33, 200, 1000})
    for (const int64_t k : {int64_t{0}, int64_t{1}, n / 10, n / 2, n})
      for (const int64_t inner : {1, 3, 37})
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

Outputs with_words(const std::string& op, std::vector<Tensor> inputs,
                   const graph::Attributes& attributes, std::vector<Place> places = {}) {
  graph::Node node;
  node.op = op;
  node.attributes = attributes;
  FunctionCall call{node, 20, {}, nullptr, std::move(places)};
  for (Tensor& t : inputs)
    call.inputs.push_back({std::move(t), false, {}});
  return find_function(op)->call(call);
}

Tensor numbers(const Shape& shape, uint64_t seed) {
  Tensor t(DataType::F32, shape);
  for (int64_t k = 0; k < t.elements(); ++k) {
    seed = hash_mix(seed, 1);
    t.as<float>()[k] = static_cast<float>(seed % 2001) / 1000 - 1;
  }
  return t;
}

/// Lengths of one and of several factors, primes among them, against the sums of the definition.
TEST(DFT, is_the_sum_of_its_definition) {
  for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 16, 30, 49, 64, 97, 120})
    for (const int64_t inverse : {0, 1}) {
      const Tensor x = numbers({2, n, 2}, static_cast<uint64_t>(n));
      const auto out = with_words("DFT", {x, Tensor(), integers({}, {1})}, {{"inverse", inverse}});
      ASSERT_TRUE(out) << out.error();
      const Tensor& y = out->front().tensor;
      ASSERT_EQ(y.shape(), x.shape());
      for (int64_t a = 0; a < 2; ++a)
        for (int64_t f = 0; f < n; ++f) {
          double re = 0, im = 0;
          for (int64_t t = 0; t < n; ++t) {
            const double angle = (inverse != 0 ? 2 : -2) * M_PI * static_cast<double>(f * t % n) /
                                 static_cast<double>(n);
            const double xr = x.get_double((a * n + t) * 2), xi = x.get_double((a * n + t) * 2 + 1);
            re += xr * std::cos(angle) - xi * std::sin(angle);
            im += xr * std::sin(angle) + xi * std::cos(angle);
          }
          const double scale = inverse != 0 ? 1 / static_cast<double>(n) : 1;
          EXPECT_NEAR(y.get_double((a * n + f) * 2), re * scale, 1e-5) << n << " " << f;
          EXPECT_NEAR(y.get_double((a * n + f) * 2 + 1), im * scale, 1e-5) << n << " " << f;
        }
    }
}

TEST(ScatterElements, combines_numbers_of_any_type) {
  for (const DataType type :
       {DataType::F32, DataType::F64, DataType::I32, DataType::I64, DataType::I8, DataType::U64})
    for (const char* how : {"none", "add", "mul", "max", "min"}) {
      Tensor data(type, {3}), updates(type, {4});
      for (int64_t k = 0; k < 3; ++k)
        graph::is_float(type) ? data.set_double(k, static_cast<double>(k + 2))
                              : data.set_int(k, k + 2);
      for (int64_t k = 0; k < 4; ++k)
        graph::is_float(type) ? updates.set_double(k, static_cast<double>(k + 1))
                              : updates.set_int(k, k + 1);
      const auto out = with_words("ScatterElements", {data, integers({4}, {0, 0, -1, 2}), updates},
                                  {{"reduction", std::string(how)}});
      ASSERT_TRUE(out) << out.error();
      const std::map<std::string, std::vector<double>> wanted{{"none", {2, 3, 4}},
                                                              {"add", {5, 3, 11}},
                                                              {"mul", {4, 3, 48}},
                                                              {"max", {2, 3, 4}},
                                                              {"min", {1, 3, 3}}};
      for (int64_t k = 0; k < 3; ++k)
        EXPECT_EQ(out->front().tensor.get_double(k), wanted.at(how)[static_cast<size_t>(k)])
            << graph::name_of(type) << " " << how << " " << k;
    }
}

TEST(GatherElements, says_which_index_is_outside) {
  const auto out = apply("GatherElements",
                         {numbers({2, 3}, 1), integers({2, 3}, {0, 1, 2, 0, 7, 1})}, {{"axis", 1}});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error(), "index 7 is outside a dimension of 3");
}

/// Remainders by the C library, among them those whose quotients are rounded up to whole numbers.
TEST(Mod, of_f32_is_that_of_the_c_library) {
  std::vector<float> some{0.0f,   -0.0f, 1.0f,        0.1f, 0.3f,     7.0f,
                          1e-40f, 1e30f, 16777216.0f, 0.7f, INFINITY, NAN};
  for (uint64_t k = 0; k < 60; ++k)
    some.push_back(static_cast<float>(hash_mix(k, 3) % 4000) / 7);
  const auto n = static_cast<int64_t>(some.size()) * 2;
  Tensor x(DataType::F32, {n, 1}), y(DataType::F32, {1, n});
  for (int64_t k = 0; k < n; ++k)
    x.as<float>()[k] = y.as<float>()[k] =
        k % 2 == 0 ? some[static_cast<size_t>(k / 2)] : -some[static_cast<size_t>(k / 2)];
  const auto out = apply("Mod", {x, y}, {{"fmod", 1}});
  ASSERT_TRUE(out) << out.error();
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const float got = out->front().tensor.as<float>()[i * n + j];
      const float want = std::fmod(x.as<float>()[i], y.as<float>()[j]);
      ASSERT_TRUE(std::isnan(want) ? std::isnan(got)
                                   : got == want && std::signbit(got) == std::signbit(want))
          << x.as<float>()[i] << " % " << y.as<float>()[j] << " is " << got << ", not " << want;
    }
}

TEST(Unique, counts_numbers_in_order) {
  Tensor x(DataType::F32, {7});
  const std::vector<float> given{3, -1, 3, 0, -1, -0.0f, 3};
  std::copy(given.begin(), given.end(), x.as<float>());
  const auto out = with_words("Unique", {x}, {});
  ASSERT_TRUE(out) << out.error();
  const auto elements = [&](size_t k) {
    std::vector<double> found;
    for (int64_t i = 0; i < (*out)[k].tensor.elements(); ++i)
      found.push_back((*out)[k].tensor.get_double(i));
    return found;
  };
  EXPECT_EQ(elements(0), (std::vector<double>{-1, 0, 3}));
  EXPECT_EQ(elements(1), (std::vector<double>{1, 3, 0}));
  EXPECT_EQ(elements(2), (std::vector<double>{2, 0, 2, 1, 0, 1, 2}));
  EXPECT_EQ(elements(3), (std::vector<double>{2, 2, 3}));
}

TEST(Results, lie_where_the_caller_wants_them_if_they_fit) {
  const Tensor data = numbers({4, 3}, 5);
  std::vector<float> room(6);
  auto* const memory = reinterpret_cast<std::byte*>(room.data());
  const auto gathered = [&](int64_t bytes) {
    const auto out = with_words("Gather", {data, integers({2}, {3, -4})}, {}, {{memory, bytes}});
    EXPECT_TRUE(out);
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(out->front().tensor.get_double(k), data.get_double(9 + k));
      EXPECT_EQ(out->front().tensor.get_double(3 + k), data.get_double(k));
    }
    return out->front().tensor.data() == memory;
  };
  EXPECT_TRUE(gathered(24));
  EXPECT_FALSE(gathered(20));
}

} // namespace
} // namespace kawara::run
