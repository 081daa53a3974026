#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace kawara::driver {
namespace {

using graph::DataType;
using graph::Tensor;
using Numbers = std::vector<uint64_t>;

constexpr uint64_t kTop = uint64_t{1} << 63;
/// On both sides of all that i64 holds; none is 0.
const Numbers kLeft = {1, 7, kTop - 1, kTop, kTop + 5, ~uint64_t{0}, 10, kTop, 3, ~uint64_t{0}};
const Numbers kRight = {2, 3, kTop, kTop - 1, kTop + 5, 1, ~uint64_t{0}, 3, 3, kTop + 9};

template <class T> Tensor tensor_of(DataType type, const std::vector<T>& elements) {
  Tensor tensor(type, {static_cast<int64_t>(elements.size())});
  std::memcpy(tensor.data(), elements.data(), elements.size() * sizeof(T));
  return tensor;
}

/// The result of one operator, its elements as numbers without a sign.
Numbers result_of(const std::string& op, const std::vector<Tensor>& given, DataType result,
                  graph::Attributes attributes = {}) {
  graph::Builder builder("unsigned");
  std::map<std::string, run::Datum> inputs;
  std::vector<graph::ValueId> ids;
  for (const Tensor& tensor : given) {
    const std::string name = "x" + std::to_string(ids.size());
    ids.push_back(builder.input(name, tensor.type(), graph::dims_of(tensor.shape())));
    inputs[name] = {tensor, false, {}};
  }
  const graph::ValueId id = builder.add(op, "node", ids, std::move(attributes));
  const bool is_one = op.starts_with("Reduce") || op.starts_with("Arg");
  builder.output(id, result, graph::dims_of(is_one ? graph::Shape{1} : given.front().shape()));
  Model model(builder.take());
  const auto results = model.run(inputs);
  EXPECT_TRUE(results) << op << ": " << render({results.error()});
  Numbers elements;
  for (int64_t k = 0; results && k < results->front().tensor.elements(); ++k)
    elements.push_back(static_cast<uint64_t>(results->front().tensor.get_int(k)));
  return elements;
}

void expect_pairs(const std::string& op, DataType result,
                  const std::function<uint64_t(uint64_t, uint64_t)>& meaning) {
  Numbers expected;
  for (size_t k = 0; k < kLeft.size(); ++k)
    expected.push_back(meaning(kLeft[k], kRight[k]));
  EXPECT_EQ(
      result_of(op, {tensor_of(DataType::U64, kLeft), tensor_of(DataType::U64, kRight)}, result),
      expected)
      << op;
}

TEST(Unsigned, NumbersOf64BitsHaveTheirOrder) {
  using enum DataType;
  expect_pairs("Less", Bool, [](auto a, auto b) { return a < b; });
  expect_pairs("LessOrEqual", Bool, [](auto a, auto b) { return a <= b; });
  expect_pairs("Greater", Bool, [](auto a, auto b) { return a > b; });
  expect_pairs("GreaterOrEqual", Bool, [](auto a, auto b) { return a >= b; });
  expect_pairs("Equal", Bool, [](auto a, auto b) { return a == b; });
  expect_pairs("Max", U64, [](auto a, auto b) { return std::max(a, b); });
  expect_pairs("Min", U64, [](auto a, auto b) { return std::min(a, b); });
}

TEST(Unsigned, NumbersOf64BitsAreDivided) {
  using enum DataType;
  expect_pairs("Div", U64, [](auto a, auto b) { return a / b; });
  expect_pairs("Mod", U64, [](auto a, auto b) { return a % b; });
  expect_pairs("Mul", U64, [](auto a, auto b) { return a * b; });
}

TEST(Unsigned, NumbersOf64BitsHaveExtremesAndNoSign) {
  using enum DataType;
  const Tensor x = tensor_of(U64, kRight);
  const auto of = [&](const std::string& op, DataType result) {
    return result_of(op, {x}, result);
  };
  EXPECT_EQ(of("ReduceMax", U64), Numbers{~uint64_t{0}});
  EXPECT_EQ(of("ReduceMin", U64), Numbers{1});
  EXPECT_EQ(of("ArgMax", I64), Numbers{6});
  EXPECT_EQ(of("ArgMin", I64), Numbers{5});
  EXPECT_EQ(of("Abs", U64), kRight);
  EXPECT_EQ(of("Sign", U64), Numbers(kRight.size(), 1));
  Numbers clipped = kRight;
  for (uint64_t& element : clipped)
    element = std::clamp<uint64_t>(element, 3, kTop + 5);
  Tensor low(U64, {}), high(U64, {});
  low.set_int(0, 3);
  high.set_int(0, static_cast<int64_t>(kTop + 5));
  EXPECT_EQ(result_of("Clip", {x, low, high}, U64), clipped);
}

TEST(Unsigned, LargeFloatsBecomeNumbersOf64Bits) {
  const Tensor x = tensor_of<double>(DataType::F64, {1.5, 0x1p62, 0x1p63, 0x1.8p63, 0x1p70});
  EXPECT_EQ(result_of("Cast", {x}, DataType::U64, {{"to", int64_t{13}}}),
            (Numbers{1, kTop / 2, kTop, kTop + kTop / 2, ~uint64_t{0}}));
}

} // namespace
} // namespace kawara::driver
