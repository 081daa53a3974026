#include <kawara/kawara.h>

#include "graph/builder.h"
#include "graph/onnx/export.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace kawara {
namespace {

using graph::Dim;

/// `y = relu(x + 1)` for x of shape [n, 4], as a file.
std::string model_file() {
  graph::Builder b("small");
  const auto x = b.input("x", graph::DataType::F32, {Dim{{}, "n"}, Dim{4, ""}});
  graph::Tensor one(graph::DataType::F32, {});
  one.set_double(0, 1);
  const auto sum = b.add("Add", "sum", {x, b.constant("one", one)});
  b.output(b.add("Relu", "y", {sum}), graph::DataType::F32, {Dim{{}, "n"}, Dim{4, ""}});
  const std::string path = testing::TempDir() + "small.onnx";
  EXPECT_TRUE(graph::write_onnx(b.graph(), path));
  return path;
}

std::string code_of_model(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.code();
  }
  return "none";
}

TEST(ModelApi, RunsOnTheCallersMemory) {
  Model model = Model::load(model_file());
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0].shape, (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(model.inputs()[0].symbols[0], "n");
  EXPECT_EQ(model.inputs()[0].count(), -1);
  model.prepare({{"n", 3}});
  EXPECT_EQ(model.outputs()[0].shape, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(model.outputs()[0].element, Element::F32);
  std::vector<float> x(12), y(12);
  std::iota(x.begin(), x.end(), -6.0F);
  model.run({x}, {y});
  EXPECT_EQ(y.front(), 0);
  EXPECT_EQ(y.back(), 6);
  std::fill(y.begin(), y.end(), -1.0F);
  model.run({{"x", x}, {"y", y}});
  EXPECT_EQ(y.back(), 6);
  model.prepare({{"n", 1}});
  EXPECT_EQ(model.outputs()[0].count(), 4);
}

TEST(ModelApi, SavesAndLoads) {
  Model model = Model::load(model_file());
  model.prepare({{"n", 2}});
  const std::string path = testing::TempDir() + "small.kwx";
  model.save(path);
  Model loaded = Model::load(path);
  EXPECT_EQ(loaded.inputs()[0].shape, (std::vector<int64_t>{2, 4}));
  const std::vector<float> x(8, 2.5F);
  std::vector<float> y(8);
  loaded.run({x}, {y});
  EXPECT_EQ(y[7], 3.5F);
}

TEST(ModelApi, DoesNotMakeSizesUp) {
  Model model = Model::load(model_file());
  const std::vector<float> x(8);
  std::vector<float> y(8);
  EXPECT_EQ(code_of_model([&] { model.prepare(); }), "K0570");
  EXPECT_EQ(code_of_model([&] { model.run({x}, {y}); }), "K0570");
  EXPECT_EQ(code_of_model([&] { model.save(testing::TempDir() + "open.kwx"); }), "K0570");
  EXPECT_EQ(code_of_model([&] { model.prepare({}, {{"x", {2, 5}}}); }), "K0571");
  model.prepare({}, {{"x", {2, 4}}});
  EXPECT_EQ(model.outputs()[0].shape, (std::vector<int64_t>{2, 4}));
  const std::string path = testing::TempDir() + "fixed.kwx";
  model.save(path);
  Model loaded = Model::load(path);
  EXPECT_EQ(code_of_model([&] { loaded.prepare({{"n", 3}}); }), "K0569");
  EXPECT_EQ(code_of_model([&] { loaded.prepare(); }), "none");

  kawara_model* from_c = kawara_model_load(model_file().c_str(), nullptr, 0);
  ASSERT_NE(from_c, nullptr);
  EXPECT_EQ(kawara_model_prepare(from_c, nullptr, nullptr, 0), 1);
  EXPECT_NE(std::string(kawara_model_message(from_c)).find("K0570"), std::string::npos);
  const int64_t shape[] = {3, 4};
  EXPECT_EQ(kawara_model_set_shape(from_c, "x", shape, 2), 0);
  EXPECT_EQ(kawara_model_prepare(from_c, nullptr, nullptr, 0), 0);
  EXPECT_EQ(kawara_model_output(from_c, 0).shape[0], 3);
  kawara_model_free(from_c);
}

TEST(ModelApi, SaysWhatIsWrong) {
  EXPECT_EQ(code_of_model([] { Model::load("missing.onnx"); }), "K0420");
  EXPECT_EQ(code_of_model([] { Model::load("missing.kwx"); }), "K0420");
  Model model = Model::load(model_file());
  model.prepare({{"n", 2}});
  const std::vector<float> x(8), short_x(7), constant(8);
  std::vector<float> y(8);
  std::vector<double> wide(8);
  EXPECT_EQ(code_of_model([&] { model.run({}, {y}); }), "K0401");
  EXPECT_EQ(code_of_model([&] { model.run({short_x}, {y}); }), "K0402");
  EXPECT_EQ(code_of_model([&] { model.run({wide}, {y}); }), "K0403");
  EXPECT_EQ(code_of_model([&] { model.run({x}, {constant}); }), "K0408");
  EXPECT_EQ(code_of_model([&] { model.run({{"x", x}}); }), "K0401");
  EXPECT_EQ(code_of_model([&] { model.run({{"x", x}, {"y", y}, {"z", y}}); }), "K0407");
}

TEST(ModelApi, FromC) {
  char message[200] = "";
  EXPECT_EQ(kawara_model_load("missing.onnx", message, sizeof message), nullptr);
  EXPECT_EQ(std::string(message).substr(0, 13), "error[K0420]:");
  kawara_model* model = kawara_model_load(model_file().c_str(), nullptr, 0);
  ASSERT_NE(model, nullptr);
  const char* symbol = "n";
  const int64_t size = 2;
  ASSERT_EQ(kawara_model_prepare(model, &symbol, &size, 1), 0);
  const kawara_port port = kawara_model_input(model, 0);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.element, KAWARA_F32);
  ASSERT_EQ(port.rank, 2U);
  EXPECT_EQ(port.shape[0], 2);
  EXPECT_EQ(kawara_model_output(model, 7).name, nullptr);
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8] = {};
  const void* inputs[] = {x};
  void* outputs[] = {y};
  EXPECT_EQ(kawara_model_run(model, inputs, outputs), 0);
  EXPECT_EQ(y[7], 9);
  outputs[0] = nullptr;
  EXPECT_EQ(kawara_model_run(model, inputs, outputs), 1);
  EXPECT_EQ(std::string(kawara_model_message(model)).substr(0, 13), "error[K0401]:");
  kawara_model_free(model);
}

} // namespace
} // namespace kawara
