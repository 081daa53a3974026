#include "unit/driver/one_node.h"

namespace kawara::driver::one_node {
namespace {

const Attributes kSeed = {{"seed", 7.0}};

double mean_of(const Tensor& x) {
  double sum = 0;
  for (int64_t k = 0; k < x.elements(); ++k)
    sum += x.get_double(k);
  return sum / static_cast<double>(x.elements());
}

/// What NumPy's RandomState(0) gives: rand() and randn().
TEST(Random, DrawsAsNumPyDoes) {
  const Attributes of_zero = {{"seed", 0.0}, {"shape", std::vector<int64_t>{3}}};
  expect_elements(run({"RandomUniform", of_zero})[0], {0.5488135, 0.71518937, 0.60276338}, 1e-7);
  expect_elements(run({"RandomNormal", of_zero})[0], {1.76405235, 0.40015721, 0.97873798}, 1e-6);
}

TEST(Random, IsScaledAndHasTheTypeThatIsAskedFor) {
  Attributes attributes = kSeed;
  attributes["low"] = -3.0;
  attributes["high"] = 5.0;
  attributes["dtype"] = int64_t{11}; // f64
  const Tensor x = varied({40, 50}, 1);
  const Tensor uniform = run({"RandomUniformLike", attributes, {x}})[0];
  EXPECT_EQ(uniform.type(), DataType::F64);
  EXPECT_EQ(uniform.shape(), x.shape());
  EXPECT_NEAR(mean_of(uniform), 1, 0.2);
  const Tensor normal = run({"RandomNormalLike", {{"mean", 4.0}, {"scale", 0.5}}, {x}})[0];
  EXPECT_EQ(normal.type(), DataType::F32);
  EXPECT_NEAR(mean_of(normal), 4, 0.1);
}

TEST(Random, DependsOnTheSeedOrTheNode) {
  const Tensor x = varied({8}, 1);
  const auto elements = [&](const Attributes& attributes, const std::string& name) {
    return elements_of(run({"RandomNormalLike", attributes, {x}, 22, 1, name})[0]);
  };
  EXPECT_EQ(elements({}, "a"), elements({}, "a"));
  EXPECT_NE(elements({}, "a"), elements({}, "b"));
  EXPECT_EQ(elements(kSeed, "a"), elements(kSeed, "b"));
  EXPECT_NE(elements(kSeed, "a"), elements({{"seed", 8.0}}, "a"));
}

TEST(Random, TurnsChancesIntoTruthValues) {
  Tensor chances(DataType::F32, {3000});
  for (int64_t k = 0; k < chances.elements(); ++k)
    chances.set_double(k, k < 1000 ? 0 : k < 2000 ? 0.25 : 1);
  const Tensor got = run({"Bernoulli", {{"dtype", int64_t{9}}}, {chances}})[0];
  EXPECT_EQ(got.type(), DataType::Bool);
  int64_t ones[3] = {0, 0, 0};
  for (int64_t k = 0; k < got.elements(); ++k)
    ones[k / 1000] += got.get_int(k);
  EXPECT_EQ(ones[0], 0);
  EXPECT_NEAR(static_cast<double>(ones[1]), 250, 60);
  EXPECT_EQ(ones[2], 1000);
}

TEST(Random, ChoosesClassesByTheirChances) {
  const Tensor logs = floats({2, 3}, {std::log(0.2), std::log(0.3), std::log(0.5), 5, -100, -100});
  const Tensor got =
      run({"Multinomial", {{"sample_size", int64_t{4000}}, {"dtype", int64_t{7}}}, {logs}})[0];
  EXPECT_EQ(got.type(), DataType::I64);
  EXPECT_EQ(got.shape(), (Shape{2, 4000}));
  double counts[3] = {0, 0, 0};
  for (int64_t k = 0; k < 4000; ++k) {
    ++counts[got.get_int(k)];
    EXPECT_EQ(got.get_int(4000 + k), 0);
  }
  EXPECT_NEAR(counts[0], 800, 150);
  EXPECT_NEAR(counts[1], 1200, 150);
}

TEST(Random, DropsElementsInTraining) {
  const Tensor x = varied({20, 100}, 3);
  const Tensor ratio = floats({}, {0.25}),
               trains = tensor(DataType::Bool, {}, std::vector<int64_t>{1}),
               rests = tensor(DataType::Bool, {}, std::vector<int64_t>{0});
  const auto got = run({"Dropout", {{"seed", int64_t{3}}}, {x, ratio, trains}, 22, 2});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_NEAR(mean_of(got[1]), 0.75, 0.05);
  for (int64_t k = 0; k < x.elements(); ++k)
    EXPECT_NEAR(got[0].get_double(k), got[1].get_int(k) != 0 ? x.get_double(k) / 0.75 : 0, 1e-6);
  EXPECT_EQ(elements_of(run({"Dropout", {{"seed", int64_t{3}}}, {x, ratio, rests}})[0]),
            elements_of(x));
  // Before version 7 an attribute says so, up to 12 nothing does.
  EXPECT_NE(elements_of(run({"Dropout", {{"ratio", 0.5}}, {x}, 6})[0]), elements_of(x));
  EXPECT_EQ(elements_of(run({"Dropout", {{"ratio", 0.5}, {"is_test", int64_t{1}}}, {x}, 6})[0]),
            elements_of(x));
  EXPECT_EQ(elements_of(run({"Dropout", {{"ratio", 0.5}}, {x}, 10})[0]), elements_of(x));
}

} // namespace
} // namespace kawara::driver::one_node
