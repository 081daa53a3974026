#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;

Tensor elements_from(const Shape& shape, int64_t seed) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, static_cast<double>((k * 7 + seed * 13) % 31 - 15) / 16);
  return tensor;
}

/// Two layers whose weights are worth packing, a weight that two products read, and two that are
/// looked up, too, before and after.
graph::Graph net_with_weights() {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({40, 160}));
  const ValueId i = b.input("i", DataType::I64, graph::dims_of({3}));
  const ValueId w = b.constant("w", elements_from({160, 160}, 1));
  const ValueId table = b.constant("table", elements_from({160, 144}, 2));
  const ValueId early = b.constant("early", elements_from({160, 160}, 6));
  const ValueId found = b.add("Gather", "found", {early, i});
  const ValueId h = b.add("Relu", "h", {b.add("MatMul", "first", {x, w})});
  const ValueId g = b.add("Tanh", "g", {b.add("MatMul", "second", {h, w})});
  b.output(b.add("MatMul", "third", {g, table}), DataType::F32, {});
  b.output(b.add("Gather", "rows", {table, i}), DataType::F32, {});
  b.output(b.add("MatMul", "fourth", {found, early}), DataType::F32, {});
  b.output(b.add("Identity", "same", {x}), DataType::F32, {});
  return b.take();
}

std::map<std::string, Datum> inputs_for(int64_t seed) {
  Tensor rows(DataType::I64, {3});
  for (int64_t k = 0; k < 3; ++k)
    rows.set_int(k, (seed * 17 + k * 5) % 160);
  return {{"x", {elements_from({40, 160}, seed), false, {}}}, {"i", {rows, false, {}}}};
}

bool are_equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

/// A model that runs again and again gives what a new one gives, and leaves earlier results alone.
void same_every_time(const ModelOptions& options) {
  Model model(net_with_weights(), options);
  std::vector<std::vector<Datum>> kept, wanted;
  for (int64_t seed = 0; seed < 5; ++seed) {
    Model fresh(net_with_weights());
    const auto first = fresh.run(inputs_for(seed)), again = model.run(inputs_for(seed));
    ASSERT_TRUE(first && again);
    wanted.push_back(*first);
    kept.push_back(*again);
  }
  for (size_t run = 0; run < kept.size(); ++run)
    for (size_t k = 0; k < 4; ++k)
      EXPECT_TRUE(are_equal(kept[run][k].tensor, wanted[run][k].tensor)) << run << ": " << k;
}

TEST(RepeatedRuns, AreTheSame) { same_every_time({}); }

TEST(RepeatedRuns, NeedNoWeightsThatArePacked) {
  ModelOptions options;
  int reads = 0;
  options.read_again = [&] {
    ++reads;
    return net_with_weights();
  };
  same_every_time(options);
  EXPECT_EQ(reads, 0);
}

/// A weight of a shape that is computed: each new shape needs what the shape before has packed.
TEST(RepeatedRuns, ReadWeightsAgainForOtherShapes) {
  const auto net = [](int64_t columns) {
    Builder b("net");
    const ValueId x = b.input("x", DataType::F32, graph::dims_of({64, 160}));
    const ValueId shape = b.input("shape", DataType::I64, graph::dims_of({3}));
    const ValueId w = b.constant("w", elements_from({160, columns}, 5));
    b.output(b.add("MatMul", "y", {b.add("Reshape", "r", {x, shape}), w}), DataType::F32, {});
    return b.take();
  };
  int64_t columns = 128;
  ModelOptions options;
  options.read_again = [&] { return net(columns); };
  Model model(net(128), options), plain(net(128));
  const auto inputs = [](int64_t parts) {
    Tensor shape(DataType::I64, {3});
    shape.set_int(0, parts);
    shape.set_int(1, 64 / parts);
    shape.set_int(2, 160);
    return std::map<std::string, Datum>{{"x", {elements_from({64, 160}, parts), false, {}}},
                                        {"shape", {shape, false, {}}}};
  };
  for (const int64_t parts : {1, 1, 2, 1, 4}) {
    const auto got = model.run(inputs(parts)), wanted = plain.run(inputs(parts));
    ASSERT_TRUE(got && wanted);
    EXPECT_TRUE(are_equal((*got)[0].tensor, (*wanted)[0].tensor)) << parts;
  }
  columns = 127;
  const auto changed = model.run(inputs(8));
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, "K0545");
}

/// A model for one call gives its weights back although its batch may have any size.
TEST(RepeatedRuns, ReadWeightsAgainWhereOneRunWasExpected) {
  const auto net = [] {
    Builder b("net");
    const ValueId x = b.input("x", DataType::F32, {{{}, "batch"}, {160, ""}});
    const ValueId w = b.constant("w", elements_from({160, 128}, 5));
    b.output(b.add("MatMul", "y", {x, w}), DataType::F32, {});
    return b.take();
  };
  for (const bool runs_once : {false, true}) {
    int reads = 0;
    ModelOptions options;
    options.runs_once = runs_once;
    options.read_again = [&] {
      ++reads;
      return net();
    };
    Model model(net(), options), plain(net());
    for (const int64_t batch : {64, 64, 48}) {
      const std::map<std::string, Datum> inputs{{"x", {elements_from({batch, 160}, 3), false, {}}}};
      const auto got = model.run(inputs), wanted = plain.run(inputs);
      ASSERT_TRUE(got && wanted);
      EXPECT_TRUE(are_equal((*got)[0].tensor, (*wanted)[0].tensor)) << batch;
    }
    EXPECT_EQ(reads, runs_once ? 1 : 0);
  }
}

TEST(RepeatedRuns, FollowValuesThatShapesDependOn) {
  Builder b("reshaped");
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({12}));
  const ValueId shape = b.input("shape", DataType::I64, graph::dims_of({2}));
  b.output(b.add("Neg", "y", {b.add("Reshape", "r", {x, shape})}), DataType::F32, {});
  Model model(b.take());
  for (const int64_t rows : {3, 3, 3, 4, 3, 6}) {
    Tensor wanted(DataType::I64, {2});
    wanted.set_int(0, rows);
    wanted.set_int(1, 12 / rows);
    const auto results =
        model.run({{"x", {elements_from({12}, rows), false, {}}}, {"shape", {wanted, false, {}}}});
    ASSERT_TRUE(results);
    EXPECT_EQ((*results)[0].tensor.shape(), (Shape{rows, 12 / rows}));
    EXPECT_EQ((*results)[0].tensor.get_double(5), -elements_from({12}, rows).get_double(5));
  }
}

TEST(RepeatedRuns, FollowResultsWhoseShapesDependOnValues) {
  Builder b("found");
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({6}));
  b.output(b.add("NonZero", "y", {b.add("Relu", "r", {x})}), DataType::I64, {});
  Model model(b.take());
  for (const int64_t count : {2, 2, 2, 5, 2, 0}) {
    Tensor elements(DataType::F32, {6});
    for (int64_t k = 0; k < 6; ++k)
      elements.set_double(k, k < count ? 1 : -1);
    const auto results = model.run({{"x", {elements, false, {}}}});
    ASSERT_TRUE(results);
    EXPECT_EQ((*results)[0].tensor.shape(), (Shape{1, count}));
  }
}

/// The same enlargement by a program (scales are known) and by a function (they are not).
TEST(Resize, RepeatsElementsAsTheFunctionDoes) {
  for (const char* coordinates : {"asymmetric", "half_pixel", "pytorch_half_pixel"}) {
    const bool is_plain = std::string(coordinates) == "asymmetric";
    const graph::Attributes attributes{
        {"mode", std::string("nearest")},
        {"coordinate_transformation_mode", std::string(coordinates)},
        {"nearest_mode", std::string(is_plain ? "floor" : "round_prefer_ceil")}};
    Tensor scales(DataType::F32, {4});
    for (int64_t k = 0; k < 4; ++k)
      scales.set_double(k, k < 2 ? 1 : static_cast<double>(k));
    std::vector<Tensor> results;
    for (const bool is_known : {true, false}) {
      Builder b("enlarged");
      const ValueId x = b.input("x", DataType::F32, graph::dims_of({2, 3, 4, 5}));
      const ValueId by = is_known ? b.constant("scales", scales)
                                  : b.input("scales", DataType::F32, graph::dims_of({4}));
      b.output(b.add("Resize", "y", {x, graph::kAbsent, by}, attributes), DataType::F32, {});
      Model model(b.take());
      std::map<std::string, Datum> inputs{{"x", {elements_from({2, 3, 4, 5}, 3), false, {}}}};
      if (!is_known)
        inputs["scales"] = {scales, false, {}};
      const auto result = model.run(inputs);
      ASSERT_TRUE(result);
      EXPECT_EQ(model.kernels(), is_known ? 1 : 0);
      results.push_back((*result)[0].tensor);
    }
    EXPECT_TRUE(are_equal(results[0], results[1])) << coordinates;
  }
}

TEST(MaxPool, RowsThenColumns) {
  Builder b("pooled");
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({1, 2, 9, 11}));
  b.output(b.add("MaxPool", "y", {x},
                 {{"kernel_shape", std::vector<int64_t>{5, 7}},
                  {"pads", std::vector<int64_t>{2, 3, 2, 3}}}),
           DataType::F32, {});
  Model model(b.take());
  const Tensor image = elements_from({1, 2, 9, 11}, 4);
  const auto result = model.run({{"x", {image, false, {}}}});
  ASSERT_TRUE(result);
  const Tensor& y = (*result)[0].tensor;
  ASSERT_EQ(y.shape(), (Shape{1, 2, 9, 11}));
  for (int64_t at = 0; at < y.elements(); ++at) {
    const int64_t c = at / 99, row = at / 11 % 9, column = at % 11;
    double largest = -1e30;
    for (int64_t i = std::max<int64_t>(row - 2, 0); i <= std::min<int64_t>(row + 2, 8); ++i)
      for (int64_t j = std::max<int64_t>(column - 3, 0); j <= std::min<int64_t>(column + 3, 10);
           ++j)
        largest = std::max(largest, image.get_double(c * 99 + i * 11 + j));
    EXPECT_EQ(y.get_double(at), largest);
  }
}

} // namespace
} // namespace kawara::driver
