// NaN, infinities, zeros of either sign and the ends of the integers in models. What is expected is
// what the standard says or, where it says nothing, ONNX Runtime without optimisations does.

#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kawara::driver {
namespace {

using graph::Attributes;
using graph::DataType;
using graph::Shape;
using graph::Tensor;
using graph::ValueId;
using Values = std::vector<double>;
using Whole = std::vector<int64_t>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const DataType kFloats[] = {DataType::F32, DataType::F64, DataType::F16, DataType::BF16};

Tensor reals(DataType type, const Shape& shape, const Values& values) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, values[static_cast<size_t>(k)]);
  return tensor;
}
Tensor reals(const Values& values) {
  return reals(DataType::F32, {static_cast<int64_t>(values.size())}, values);
}
Tensor wholes(DataType type, const Shape& shape, const Whole& values) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_int(k, values[static_cast<size_t>(k)]);
  return tensor;
}
Values reals_of(const Tensor& tensor) {
  Values values;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    values.push_back(tensor.get_double(k));
  return values;
}
Whole wholes_of(const Tensor& tensor) {
  Whole values;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    values.push_back(tensor.get_int(k));
  return values;
}

/// NaN as NaN, everything else as numbers.
void expect_same(const Values& have, const Values& want, const std::string& what) {
  ASSERT_EQ(have.size(), want.size()) << what;
  for (size_t k = 0; k < want.size(); ++k)
    if (std::isnan(want[k]))
      EXPECT_TRUE(std::isnan(have[k])) << what << " at " << k << " is " << have[k];
    else
      EXPECT_EQ(have[k], want[k]) << what << " at " << k;
}

/// An operator whose first `given` operands come with the call; the others are constants.
struct Call {
  std::string op;
  std::vector<Tensor> operands;
  Attributes attributes = {};
  size_t results = 1;
  size_t given = 1;
  int64_t opset = 17;
};

Result<std::vector<Tensor>, Diagnostic> results_of(const Call& call) {
  graph::Builder b("net", call.opset);
  std::vector<ValueId> operands;
  std::map<std::string, run::Datum> inputs;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const Tensor& tensor = call.operands[k];
    const std::string name = "x" + std::to_string(k);
    if (k < call.given) {
      operands.push_back(b.input(name, tensor.type(), graph::dims_of(tensor.shape())));
      inputs[name] = {tensor, false, {}};
    } else {
      operands.push_back(b.constant(name, tensor));
    }
  }
  for (const ValueId id : b.add_many(call.op, "y", operands, call.results, call.attributes))
    b.output(id, DataType::F32, {});
  graph::Graph graph = b.take();
  for (const ValueId id : graph.outputs)
    graph.values[id].type = {};
  auto results = Model(std::move(graph)).run(inputs);
  if (!results)
    return fail(results.error());
  std::vector<Tensor> tensors;
  for (const run::Datum& datum : *results)
    tensors.push_back(datum.tensor);
  return tensors;
}

std::vector<Tensor> made(const Call& call) {
  auto results = results_of(call);
  EXPECT_TRUE(results) << call.op << ": " << (results ? "" : render(results.error()));
  return results ? *std::move(results)
                 : std::vector<Tensor>(call.results, Tensor(DataType::F32, {0}));
}
std::string code_of(const Call& call) {
  const auto results = results_of(call);
  return results ? "none" : results.error().code;
}

/// Numbers with NaN at every fifth place, longer than a vector.
Values with_nans(size_t count) {
  Values values;
  for (size_t k = 0; k < count; ++k)
    values.push_back(k % 5 == 2 ? kNaN : 0.25 * static_cast<double>(k) - 3);
  return values;
}

TEST(SpecialValues, FunctionsOfOneElementLetNaNThrough) {
  const Values x = with_nans(37);
  for (const DataType type : kFloats)
    for (const char* op : {"Relu", "Celu", "HardSigmoid", "HardSwish", "Sign", "Clip", "Softplus",
                           "Mish", "Elu", "Selu", "LeakyRelu"}) {
      Call call{op, {reals(type, {37}, x)}};
      if (call.op == "Clip")
        call.operands = {call.operands[0], reals(type, {}, {-1}), reals(type, {}, {2})};
      const Values y = reals_of(made(call)[0]);
      for (size_t k = 0; k < y.size(); ++k)
        EXPECT_EQ(std::isnan(y[k]), k % 5 == 2) << op << " " << graph::name_of(type) << " " << k;
    }
}

TEST(SpecialValues, ExtremesOfElementsAreNaNWhereOneIs) {
  const Values x{1, kNaN, 3, kNaN, -kInf, kInf, 0}, y{2, 1, kNaN, kNaN, kNaN, 5, -1};
  for (const DataType type : kFloats) {
    const Tensor a = reals(type, {7}, x), b = reals(type, {7}, y);
    expect_same(reals_of(made({"Max", {a, b}, {}, 1, 2})[0]), {2, kNaN, kNaN, kNaN, kNaN, kInf, 0},
                "Max");
    expect_same(reals_of(made({"Min", {a, b}, {}, 1, 2})[0]), {1, kNaN, kNaN, kNaN, kNaN, 5, -1},
                "Min");
  }
}

TEST(SpecialValues, ExtremesOfRowsAndColumnsAreNaNWhereOneIs) {
  for (const int64_t length : {3, 4, 37, 130})
    for (const DataType type : kFloats)
      for (const int64_t axis : {0, 1})
        for (const char* op : {"ReduceMax", "ReduceMin"}) {
          // Line k has a NaN at place k * 7, if there is such a place.
          Values x(static_cast<size_t>(5 * length), 1.5), want(5, 1.5);
          for (int64_t k = 0; k < 5 && k * 7 < length; ++k) {
            x[static_cast<size_t>(axis == 1 ? k * length + k * 7 : k * 7 * 5 + k)] = kNaN;
            want[static_cast<size_t>(k)] = kNaN;
          }
          const Shape shape = axis == 1 ? Shape{5, length} : Shape{length, 5};
          const Call call{op, {reals(type, shape, x)}, {{"axes", Whole{axis}}}};
          expect_same(reals_of(made(call)[0]), want, op);
        }
}

TEST(SpecialValues, PoolsLetNaNThrough) {
  Values x(16 * 16, -2);
  x[5 * 16 + 6] = kNaN;
  for (const DataType type : {DataType::F32, DataType::F64, DataType::F16})
    for (const int64_t size : {2, 3, 5}) {
      const int64_t pad = size / 2;
      const Call call{"MaxPool",
                      {reals(type, {1, 1, 16, 16}, x)},
                      {{"kernel_shape", Whole{size, size}}, {"pads", Whole{pad, pad, pad, pad}}}};
      const Tensor y = made(call)[0];
      const int64_t out = y.shape()[3];
      for (int64_t i = 0; i < out; ++i)
        for (int64_t j = 0; j < out; ++j) {
          const bool reaches =
              i - pad <= 5 && 5 < i - pad + size && j - pad <= 6 && 6 < j - pad + size;
          EXPECT_EQ(std::isnan(y.get_double(i * out + j)), reaches) << size << " " << i << " " << j;
        }
    }
  EXPECT_TRUE(std::isnan(
      made({"GlobalMaxPool", {reals(DataType::F32, {1, 1, 16, 16}, x)}})[0].get_double(0)));
}

TEST(SpecialValues, PlacesOfPoolsAreInTheImage) {
  const Attributes square{{"kernel_shape", Whole{2, 2}}, {"pads", Whole{1, 1, 1, 1}}};
  const auto infinite =
      made({"MaxPool", {reals(DataType::F32, {1, 1, 2, 2}, Values(4, -kInf))}, square, 2});
  EXPECT_EQ(wholes_of(infinite[1]), (Whole{0, 0, 1, 0, 0, 1, 2, 2, 3}));
  const auto nan = made({"MaxPool",
                         {reals(DataType::F32, {1, 1, 2, 2}, {1, kNaN, 3, kNaN})},
                         {{"kernel_shape", Whole{2, 2}}},
                         2});
  EXPECT_EQ(wholes_of(nan[1]), (Whole{1}));
}

TEST(SpecialValues, SoftmaxOfARowWithNaNIsNaN) {
  const Values x{1, kNaN, 3, 2, 1, 2, 3, 4, -kInf, -kInf, -kInf, -kInf};
  for (const DataType type : {DataType::F32, DataType::F64})
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      const Values y = reals_of(made({op, {reals(type, {3, 4}, x)}, {{"axis", int64_t{1}}}})[0]);
      for (size_t k = 0; k < y.size(); ++k)
        EXPECT_EQ(std::isnan(y[k]), k < 4 || k >= 8) << op << k;
    }
}

TEST(SpecialValues, PlacesOfExtremesAreInTheRow) {
  const Values x{1,     kNaN, 3,     2,    kNaN, kNaN, kNaN, kNaN,  kNaN, -kInf, kInf, 1,
                 -kInf, kNaN, -kInf, kNaN, kInf, kInf, kNaN, -kInf, 4,    1,     4,    1};
  const auto places = [&](const char* op, int64_t last) {
    return wholes_of(made({op,
                           {reals(DataType::F32, {6, 4}, x)},
                           {{"axis", int64_t{1}}, {"select_last_index", last}}})[0]);
  };
  EXPECT_EQ(places("ArgMax", 0), (Whole{2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(places("ArgMax", 1), (Whole{2, 0, 0, 2, 1, 2}));
  EXPECT_EQ(places("ArgMin", 0), (Whole{0, 0, 0, 0, 3, 1}));
  EXPECT_EQ(places("ArgMin", 1), (Whole{0, 0, 0, 2, 3, 3}));
}

TEST(SpecialValues, NaNIsAboveAllNumbersInOrders) {
  Values x;
  for (int k = 0; k < 64; ++k)
    x.push_back(k % 5 == 0 ? kNaN : static_cast<double>(k * 7 % 64));
  for (const int64_t largest : {0, 1}) {
    const auto top =
        made({"TopK", {reals(x), wholes(DataType::I64, {1}, {64})}, {{"largest", largest}}, 2});
    const Values values = reals_of(top[0]);
    for (size_t k = 0; k < 64; ++k) {
      EXPECT_EQ(std::isnan(values[k]), largest == 1 ? k < 13 : k >= 51) << k;
      if (k > 0 && !std::isnan(values[k]) && !std::isnan(values[k - 1])) {
        EXPECT_EQ(values[k] < values[k - 1], largest == 1) << k;
      }
    }
  }
  const auto distinct = made({"Unique", {reals({3, kNaN, 1, kNaN, 3, 2})}, {}, 4});
  expect_same(reals_of(distinct[0]), {1, 2, 3, kNaN}, "Unique");
  EXPECT_EQ(wholes_of(distinct[1]), (Whole{2, 5, 0, 1}));
  EXPECT_EQ(wholes_of(distinct[2]), (Whole{2, 3, 0, 3, 2, 1}));
  EXPECT_EQ(wholes_of(distinct[3]), (Whole{1, 1, 2, 2}));
}

TEST(SpecialValues, ScoresThatAreNaNComeLast) {
  Values boxes;
  for (int k = 0; k < 4; ++k)
    boxes.insert(boxes.end(), {2.0 * k, 2.0 * k, 2.0 * k + 1, 2.0 * k + 1});
  const Tensor places = reals(DataType::F32, {1, 4, 4}, boxes),
               scores = reals(DataType::F32, {1, 1, 4}, {kNaN, 0.5, kNaN, 0.9}),
               most = wholes(DataType::I64, {}, {4}), limit = reals(DataType::F32, {}, {0.5}),
               least = reals(DataType::F32, {}, {0.1});
  EXPECT_EQ(wholes_of(made({"NonMaxSuppression", {places, scores, most, limit}, {}, 1, 2})[0]),
            (Whole{0, 0, 3, 0, 0, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(
      wholes_of(made({"NonMaxSuppression", {places, scores, most, limit, least}, {}, 1, 2})[0]),
      (Whole{0, 0, 3, 0, 0, 1}));
}

TEST(SpecialValues, LogarithmsOfSumsWithInfinities) {
  const Values x{1, kInf, 2, 3, -kInf, -kInf, -kInf, -kInf, kInf, -kInf, 0, 0, kNaN, kInf, 0, 0};
  for (const DataType type : {DataType::F32, DataType::F64})
    expect_same(reals_of(made({"ReduceLogSumExp",
                               {reals(type, {4, 4}, x)},
                               {{"axes", Whole{1}}, {"keepdims", int64_t{0}}}})[0]),
                {kInf, -kInf, kInf, kNaN}, "ReduceLogSumExp");
}

TEST(SpecialValues, LogisticFunctionsKeepTheirTail) {
  const Values x{-88, -20, -8.5, -1, 0, 1, 20, 200};
  const Values soft = reals_of(made({"Softplus", {reals(x)}})[0]);
  const Values mish = reals_of(made({"Mish", {reals(x)}, {}, 1, 1, 18})[0]);
  for (size_t k = 0; k < x.size(); ++k) {
    const double want = x[k] > 100 ? x[k] : std::log1p(std::exp(x[k]));
    EXPECT_NEAR(soft[k] / want, 1, 1e-6) << x[k];
    if (x[k] != 0) {
      EXPECT_NEAR(mish[k] / (x[k] * std::tanh(want)), 1, 1e-6) << x[k];
    }
  }
}

TEST(SpecialValues, QuantizedNaNIsTheLowestNumber) {
  const Tensor x = reals({kNaN, kInf, -kInf, 1, -1, 1e9}), scale = reals(DataType::F32, {}, {0.5});
  EXPECT_EQ(wholes_of(made({"QuantizeLinear", {x, scale, wholes(DataType::U8, {}, {3})}})[0]),
            (Whole{0, 255, 0, 5, 1, 255}));
  EXPECT_EQ(wholes_of(made({"QuantizeLinear", {x, scale, wholes(DataType::I8, {}, {-3})}})[0]),
            (Whole{-128, 127, -128, -1, -5, 127}));
  const auto zeros = made({"DynamicQuantizeLinear", {reals(Values(6, 0))}, {}, 3});
  EXPECT_EQ(wholes_of(zeros[0]), Whole(6, 0));
  EXPECT_EQ(zeros[1].get_double(0), 1);
  EXPECT_EQ(zeros[2].get_int(0), 0);
}

TEST(SpecialValues, SlicesBackwardsBeginInTheTensor) {
  const auto slice = [](int64_t start, int64_t end, int64_t step) {
    const auto one = [](int64_t n) { return wholes(DataType::I64, {1}, {n}); };
    return reals_of(
        made({"Slice", {reals({0, 1, 2, 3, 4, 5}), one(start), one(end), one(0), one(step)}})[0]);
  };
  EXPECT_EQ(slice(-9, -9, -1), (Values{0}));
  EXPECT_EQ(slice(-7, -9, -1), (Values{0}));
  EXPECT_EQ(slice(100, -9, -2), (Values{5, 3, 1}));
  EXPECT_EQ(slice(-1, 0, -3), (Values{5, 2}));
  EXPECT_EQ(slice(2, 4, -1), Values{});
  EXPECT_EQ(slice(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
                  std::numeric_limits<int64_t>::min()),
            (Values{5}));
}

TEST(SpecialValues, RangesThatNoMemoryHoldsAreRefused) {
  const auto one = [](int64_t n) { return wholes(DataType::I64, {}, {n}); };
  EXPECT_EQ(code_of({"Range", {one(0), one(int64_t{1} << 50), one(1)}, {}, 1, 0}), "K0511");
  EXPECT_EQ(code_of({"Range",
                     {one(std::numeric_limits<int64_t>::min()),
                      one(std::numeric_limits<int64_t>::max()), one(1)},
                     {},
                     1,
                     0}),
            "K0511");
  const int64_t high = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(wholes_of(made({"Range", {one(high - 5), one(high), one(2)}, {}, 1, 0})[0]),
            (Whole{high - 5, high - 3, high - 1}));
}

template <class T> void expect_quotients(DataType type) {
  using Limits = std::numeric_limits<T>;
  const int64_t low = Limits::min(), high = Limits::max();
  const Whole a{low, low, low, low, low, high, high, high, 7, -7, 7, -7, 0, low + 1},
      b{-1, 1, 2, low, high, -1, low, high, 2, 2, -2, -2, low, -1};
  Whole quotients, rests, signed_rests;
  for (size_t k = 0; k < a.size(); ++k) {
    const bool wraps = a[k] == low && b[k] == -1;
    const int64_t q = wraps ? low : a[k] / b[k], r = b[k] == -1 ? 0 : a[k] % b[k];
    quotients.push_back(q);
    signed_rests.push_back(r);
    rests.push_back(r != 0 && (r < 0) != (b[k] < 0) ? r + b[k] : r);
  }
  const Tensor x = wholes(type, {14}, a), y = wholes(type, {14}, b);
  const std::string name(graph::name_of(type));
  for (const size_t given : {size_t{1}, size_t{2}}) { // a divisor that is known, one that is not
    EXPECT_EQ(wholes_of(made({"Div", {x, y}, {}, 1, given})[0]), quotients) << name;
    EXPECT_EQ(wholes_of(made({"Mod", {x, y}, {}, 1, given})[0]), rests) << name;
    EXPECT_EQ(wholes_of(made({"Mod", {x, y}, {{"fmod", int64_t{1}}}, 1, given})[0]), signed_rests)
        << name;
  }
}

TEST(SpecialValues, QuotientsOfTheLowestInteger) {
  expect_quotients<int8_t>(DataType::I8);
  expect_quotients<int16_t>(DataType::I16);
  expect_quotients<int32_t>(DataType::I32);
  expect_quotients<int64_t>(DataType::I64);
}

TEST(SpecialValues, IntegersAreNotDividedByZero) {
  for (const DataType type : {DataType::I8, DataType::U8, DataType::I32, DataType::I64})
    for (const char* op : {"Div", "Mod"}) {
      Whole divisors(37, 3);
      divisors[20] = 0;
      const Tensor x = wholes(type, {37}, Whole(37, 7)), y = wholes(type, {37}, divisors);
      EXPECT_EQ(code_of({op, {x, y}, {}, 1, 2}), "K0412") << op;
      EXPECT_EQ(code_of({op, {x, y}, {}, 1, 1}), "K0511") << op;
      divisors[20] = 1;
      EXPECT_EQ(code_of({op, {x, wholes(type, {37}, divisors)}, {}, 1, 2}), "none") << op;
    }
}

TEST(SpecialValues, RestsOfFloatsHaveAllDigits) {
  const Call call{"Mod",
                  {reals({1e20, -1e25, 1, 5.5, -5.5, kInf}), reals({7, 0.5, kInf, 2, 2, 2})},
                  {{"fmod", int64_t{1}}},
                  1,
                  2};
  const Values want{std::fmod(static_cast<double>(1e20F), 7), -0.0, 1, 1.5, -1.5, kNaN};
  expect_same(reals_of(made(call)[0]), want, "Mod");
}

TEST(SpecialValues, FloatsOutOfRangeAsIntegers) {
  const Values x{-2.9, 2.9, 300, -129, 3e9, -3e9, 1e30, -1e30, kInf, -kInf, kNaN};
  constexpr int64_t low = std::numeric_limits<int32_t>::min(),
                    high = std::numeric_limits<int32_t>::max(),
                    lowest = std::numeric_limits<int64_t>::min(),
                    highest = std::numeric_limits<int64_t>::max();
  for (const DataType from : {DataType::F32, DataType::F64}) {
    const auto cast = [&](int64_t number) {
      return wholes_of(made({"Cast", {reals(from, {11}, x)}, {{"to", number}}})[0]);
    };
    EXPECT_EQ(cast(6), (Whole{-2, 2, 300, -129, high, low, high, low, high, low, 0}));
    EXPECT_EQ(cast(7), (Whole{-2, 2, 300, -129, 3000000000, -3000000000, highest, lowest, highest,
                              lowest, 0}));
    EXPECT_EQ(cast(3), (Whole{-2, 2, 44, 127, -1, 0, -1, 0, -1, 0, 0}));
    EXPECT_EQ(cast(2), (Whole{254, 2, 44, 127, 255, 0, 255, 0, 255, 0, 0}));
    EXPECT_EQ(cast(12)[4], 3000000000) << "u32";
  }
}

/// f(g(x, c), d)
Values two_steps(const std::string& g, double c, const std::string& f, double d, const Values& x) {
  graph::Builder b("net");
  const auto elements = static_cast<int64_t>(x.size());
  const ValueId in = b.input("x", DataType::F32, graph::dims_of({elements}));
  const ValueId first = b.add(g, "t", {in, b.constant("c", reals(DataType::F32, {}, {c}))});
  std::vector<ValueId> operands{first};
  if (f != "Reciprocal")
    operands.push_back(b.constant("d", reals(DataType::F32, {}, {d})));
  b.output(b.add(f, "y", operands), DataType::F32, graph::dims_of({elements}));
  const auto results = Model(b.take()).run({{"x", {reals(x), false, {}}}});
  EXPECT_TRUE(results);
  return results ? reals_of((*results)[0].tensor) : Values{};
}

TEST(SpecialValues, RewritingKeepsInfinitiesZerosAndSteps) {
  expect_same(two_steps("Mul", 1e30, "Mul", 1e-30, {1e10, 0, -1e10, kNaN}), {kInf, 0, -kInf, kNaN},
              "overflow");
  expect_same(two_steps("Mul", 1e-30, "Mul", 1e30, {1e-20, 0}), {0, 0}, "underflow");
  expect_same(two_steps("Mul", 1e30, "Div", 1e30, {1e10}), {kInf}, "quotient");
  expect_same(two_steps("Add", 12582912, "Sub", 12582912, {0.3, 1.7, -2.6}), {0, 2, -3},
              "rounding");
  expect_same(two_steps("Add", 0, "Reciprocal", 0, {-0.0, 0.0}), {kInf, kInf}, "x + 0");
  expect_same(two_steps("Add", -0.0, "Reciprocal", 0, {-0.0, 0.0}), {-kInf, kInf}, "x + -0");
  expect_same(two_steps("Sub", 0, "Reciprocal", 0, {-0.0, 0.0}), {-kInf, kInf}, "x - 0");
  expect_same(two_steps("Sub", -0.0, "Reciprocal", 0, {-0.0, 0.0}), {kInf, kInf}, "x - -0");
}

} // namespace
} // namespace kawara::driver
