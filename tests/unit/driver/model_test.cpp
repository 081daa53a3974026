#include "driver/model/model.h"

#include "driver/check/conformance.h"
#include "graph/builder.h"
#include "graph/onnx/import.h"
#include "run/file.h"
#include "unit/graph/onnx_bytes.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

using namespace onnx_bytes;
using graph::DataType;
using graph::Shape;
using graph::Tensor;
using run::Datum;

Model model_from(const Parts& parts) {
  auto graph = graph::graph_from_onnx(model(parts), "model.onnx", "");
  EXPECT_TRUE(graph);
  return Model(*std::move(graph));
}

Datum filled(const Shape& shape, double value) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, value);
  return {tensor, false, {}};
}

std::string code_of(Model& model, const std::map<std::string, Datum>& inputs) {
  const auto results = model.run(inputs);
  return results ? "none" : results.error().code;
}

const Parts kSum{{node("Add", {"a", "b"}, {"c"})},
                 {},
                 {value("a", kFloat, {2, -1}), value("b", kFloat, {2, -1})},
                 {value("c", kFloat, {2, -1})}};

TEST(Model, RunsAndKeepsItsCode) {
  Model model = model_from(kSum);
  for (const double x : {1.0, 5.0}) {
    const auto results = model.run({{"a", filled({2, 3}, x)}, {"b", filled({2, 3}, 2)}});
    ASSERT_TRUE(results);
    EXPECT_EQ((*results)[0].tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ((*results)[0].tensor.get_double(5), x + 2);
    EXPECT_EQ(model.kernels(), 1);
  }
  ASSERT_TRUE(model.run({{"a", filled({2, 4}, 1)}, {"b", filled({2, 4}, 2)}}));
  EXPECT_EQ(model.kernels(), 2);
}

TEST(Model, ProfileAddsUpToTheCall) {
  Model model = model_from(kSum);
  const auto profile = model.profile({{"a", filled({2, 3}, 1)}, {"b", filled({2, 3}, 2)}}, 1);
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->steps.size(), 1u);
  EXPECT_EQ(profile->steps[0].ops, "Add");
  EXPECT_GT(profile->steps[0].seconds, 0);
  EXPECT_GT(profile->between, 0);
  EXPECT_NEAR(profile->steps[0].seconds + profile->between, profile->seconds, 1e-12);
}

TEST(Model, RefusesWrongInputs) {
  Model model = model_from(kSum);
  EXPECT_EQ(code_of(model, {{"a", filled({2, 3}, 1)}}), "K0520");
  EXPECT_EQ(
      code_of(model, {{"a", filled({2, 3}, 1)}, {"b", filled({2, 3}, 1)}, {"x", filled({}, 1)}}),
      "K0520");
  EXPECT_EQ(code_of(model, {{"a", filled({3, 3}, 1)}, {"b", filled({2, 3}, 1)}}), "K0521");
  EXPECT_EQ(code_of(model, {{"a", filled({2, 3}, 1)}, {"b", filled({2, 4}, 1)}}), "K0521");
}

TEST(Model, NamesTheNodeThatItCannotRun) {
  Parts unknown = kSum;
  unknown.nodes = {node("Adds", {"a", "b"}, {"c"})};
  Model first = model_from(unknown);
  const auto no_operator = first.run({{"a", filled({2, 3}, 1)}, {"b", filled({2, 3}, 1)}});
  ASSERT_FALSE(no_operator);
  EXPECT_EQ(no_operator.error().code, "K0510");
  EXPECT_EQ(render(no_operator.error()),
            "error[K0510]: `hand_made` uses the operator `Adds`, which Kawara does not know\n\n"
            "  Adds: node `the_Adds`; the nearest that is known is Add\n");

  Parts misfit = kSum;
  misfit.nodes = {node("MatMul", {"a", "b"}, {"c"})};
  Model second = model_from(misfit);
  const auto no_shapes = second.run({{"a", filled({2, 3}, 1)}, {"b", filled({2, 3}, 1)}});
  ASSERT_FALSE(no_shapes);
  EXPECT_EQ(render(no_shapes.error()),
            "error[K0511]: node `the_MatMul` (MatMul) cannot be run on these inputs\n\n"
            "  Its inputs are f32[2, 3], f32[2, 3]:\n"
            "  [2, 3] times [2, 3] is no product of matrices.\n");
}

TEST(Model, RefusesTypesWithoutAFormula) {
  Parts parts = kSum;
  parts.nodes = {node("LogSoftmax", {"a"}, {"c"})};
  parts.inputs = {value("a", kInt64, {2, 3})};
  Model model = model_from(parts);
  EXPECT_EQ(code_of(model, {{"a", {Tensor(DataType::I64, {2, 3}), false, {}}}}), "K0511");
}

TEST(Model, RefusesDimensionsOfANumber) {
  for (const char* op : {"ArgMax", "ArgMin", "Softmax", "Concat", "Split"}) {
    Parts parts = kSum;
    parts.nodes = {node(op, {"a"}, {"c"}, integer_attribute("axis", 0))};
    parts.inputs = {value("a", kFloat, {})};
    Model model = model_from(parts);
    EXPECT_EQ(code_of(model, {{"a", {Tensor(DataType::F32, {}), false, {}}}}), "K0511") << op;
  }
}

TEST(Model, RefusesNodesWithoutOperands) {
  for (const char* op : {"Sigmoid", "Softmax", "Transpose", "Slice", "Mul", "Conv", "MatMul"}) {
    Parts parts = kSum;
    parts.nodes = {node(op, {}, {"d"}), node("Mul", {"a", "d"}, {"c"})};
    Model model = model_from(parts);
    EXPECT_EQ(code_of(model, {{"a", filled({2, 3}, 1)}, {"b", filled({2, 3}, 1)}}), "K0511") << op;
  }
}

/// A loop that carries what nobody gave: its body may hand it on, and may not compute with it.
Model loop_over_nothing(const char* op) {
  graph::Builder body("body");
  body.input("i", DataType::I64, {});
  const ValueId goes_on = body.input("goes_on", DataType::Bool, {});
  const ValueId state = body.input("state", DataType::F32, {});
  body.output(body.add("Identity", "again", {goes_on}), DataType::Bool, {});
  body.output(body.add(op, "next", {state}), DataType::F32, {});
  graph::Builder b("net");
  const ValueId limit = b.input("limit", DataType::I64, {});
  b.output(b.add("Loop", "y", {limit, graph::kAbsent, graph::kAbsent},
                 {{"body", std::make_shared<const graph::Graph>(body.take())}}),
           DataType::F32, {});
  return Model(b.take());
}

TEST(Model, RefusesToComputeWithNothing) {
  Tensor three(DataType::I64, {});
  three.set_int(0, 3);
  for (const char* op : {"Neg", "Softmax", "Identity", "Flatten", "Transpose"}) {
    Model model = loop_over_nothing(op);
    EXPECT_EQ(code_of(model, {{"limit", {three, false, {}}}}), "K0511") << op;
  }
}

TEST(Model, RefusesOrdersOfOtherDimensions) {
  for (const std::vector<int64_t>& order :
       std::vector<std::vector<int64_t>>{{}, {0}, {0, 0}, {1, 0, 2}, {0, 2}}) {
    graph::Builder b("net");
    const ValueId x = b.input("x", DataType::F32, graph::dims_of({2, 3}));
    b.output(b.add("Transpose", "y", {x}, {{"perm", order}}), DataType::F32, {});
    Model model(b.take());
    EXPECT_EQ(code_of(model, {{"x", filled({2, 3}, 1)}}), "K0511") << graph::text_of(order);
  }
}

TEST(Model, RefusesBlocksBeyondAllNumbers) {
  Parts parts = kSum;
  parts.nodes = {
      node("DepthToSpace", {"a"}, {"c"}, integer_attribute("blocksize", int64_t{1} << 40))};
  parts.inputs = {value("a", kFloat, {1, 4, 2, 2})};
  Model model = model_from(parts);
  EXPECT_EQ(code_of(model, {{"a", filled({1, 4, 2, 2}, 1)}}), "K0511");
}

TEST(Model, RefusesPlacesInNoImage) {
  graph::Builder b("net");
  const ValueId x = b.input("x", DataType::F32, graph::dims_of({1, 1, 2, 2}));
  const ValueId places = b.input("places", DataType::I64, graph::dims_of({1, 1, 2, 2}));
  b.output(b.add("MaxUnpool", "y", {x, places},
                 {{"kernel_shape", std::vector<int64_t>{2, 2}},
                  {"strides", std::vector<int64_t>{2, -2}}}),
           DataType::F32, {});
  Model model(b.take());
  EXPECT_EQ(code_of(model, {{"x", filled({1, 1, 2, 2}, 1)},
                            {"places", {Tensor(DataType::I64, {1, 1, 2, 2}), false, {}}}}),
            "K0511");
}

TEST(Model, PlansOnWhenValuesAreKnown) {
  const Parts parts{{node("Expand", {"a", "s"}, {"b"}), node("Relu", {"b"}, {"c"})},
                    {},
                    {value("a", kFloat, {1}), value("s", kInt64, {-1})},
                    {value("c", kFloat, {-1})}};
  Model model = model_from(parts);
  Tensor shape(DataType::I64, {2});
  shape.set_int(0, 3);
  shape.set_int(1, 2);
  const auto results = model.run({{"a", filled({1}, 4)}, {"s", {shape, false, {}}}});
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].tensor.shape(), (Shape{3, 2}));
  EXPECT_EQ((*results)[0].tensor.get_double(5), 4);
}

/// Elements that are worked out before a model runs are counted first.
TEST(Model, RefusesConstantsThatAreTooLarge) {
  Model model = model_from({{node("ConstantOfShape", {"s"}, {"c"})},
                            {},
                            {value("s", kInt64, {-1})},
                            {value("c", kFloat, {-1})}});
  Tensor huge(DataType::I64, {2});
  huge.set_int(0, 1 << 22);
  huge.set_int(1, 1 << 22);
  EXPECT_EQ(code_of(model, {{"s", {huge, false, {}}}}), "K0511");
}

/// Deterministic damage to real files must give results or messages, never a crash.
TEST(Model, SurvivesDamagedFiles) {
  const std::string root = "/usr/share/libonnx-testdata/data/node/";
  uint64_t state = 1;
  const auto random = [&state](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state >> 33) % below);
  };
  for (const char* name :
       {"test_conv_with_strides_padding", "test_gru_defaults", "test_loop11", "test_slice"}) {
    const auto file = run::read_file(root + name + "/model.onnx");
    ASSERT_TRUE(file) << "install libonnx-testdata";
    for (int round = 0; round < 60; ++round) {
      std::string damaged = *file;
      if (round % 4 == 0)
        damaged.resize(random(damaged.size()));
      for (size_t k = 0; k < 1 + random(3) && !damaged.empty(); ++k)
        damaged[random(damaged.size())] = static_cast<char>(random(256));
      auto graph = graph::graph_from_onnx(damaged, "damaged.onnx", "");
      if (!graph) {
        EXPECT_EQ(graph.error().code.substr(0, 3), "K05");
        continue;
      }
      EXPECT_TRUE(graph::spec(*graph).empty());
      EXPECT_FALSE(graph::print(*graph).empty());
      Model model(*std::move(graph));
      InputSizes ones; // for what the damage has opened
      for (const ValueId id : model.graph().inputs) {
        const graph::Value& value = model.graph().values[id];
        for (const graph::Dim& dim : value.type.shape.value_or(std::vector<graph::Dim>()))
          ones.shapes[value.name].push_back(dim.size.value_or(1));
      }
      const auto inputs = model.inputs_for({}, ones);
      if (!inputs) {
        EXPECT_EQ(inputs.error().code.substr(0, 3), "K05");
        continue;
      }
      bool is_small = true;
      for (const auto& [input, datum] : *inputs)
        is_small = is_small && datum.tensor.elements() < 4096;
      if (is_small) [[maybe_unused]]
        const auto results = model.run(*inputs);
    }
  }
}

TEST(Conformance, ComparesByType) {
  const Datum a = filled({2}, 1.0), b = filled({2}, 1.0005), c = filled({2}, 1.01);
  EXPECT_EQ(difference(a, b, 1e-3, 1e-7), "");
  EXPECT_EQ(difference(a, c, 1e-3, 1e-7), "element 0 is 1 instead of 1.0099999904632568");
  EXPECT_EQ(difference(a, filled({3}, 1), 1e-3, 1e-7), "f32[2] instead of f32[3]");
  const auto none = conformance_cases("no such folder");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "K0530");
}

} // namespace
} // namespace kawara::driver
