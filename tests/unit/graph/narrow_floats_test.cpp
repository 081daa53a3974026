#include "graph/narrow_floats.h"

#include "graph/builder.h"

#include <gtest/gtest.h>

namespace kawara::graph {
namespace {

Tensor numbers(const Shape& shape, double value) {
  Tensor tensor(DataType::F32, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, value);
  return tensor;
}

TEST(NarrowFloats, WeightsAreConvertedAndEndsAreCast) {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, dims_of({2, 3}));
  const ValueId w = b.constant("w", numbers({3, 4}, 1.00390625));
  const ValueId y = b.add("MatMul", "y", {x, w});
  b.output(y, DataType::F32, dims_of({2, 4}));
  const Graph net = with_narrow_floats(b.take(), DataType::BF16);
  EXPECT_TRUE(spec(net).empty());
  ASSERT_EQ(net.nodes.size(), 3U);
  EXPECT_EQ(net.nodes[0].op, "Cast");
  EXPECT_EQ(net.nodes[1].op, "MatMul");
  EXPECT_EQ(net.nodes[2].op, "Cast");
  EXPECT_EQ(std::get<int64_t>(net.nodes[0].attributes.at("to")), 16);
  EXPECT_EQ(std::get<int64_t>(net.nodes[2].attributes.at("to")), 1);
  EXPECT_EQ(net.outputs[0], y);
  EXPECT_EQ(net.initializers.at(w).type(), DataType::BF16);
  EXPECT_EQ(net.initializers.at(w).get_double(0), 1.0); // a tie goes to the even one
}

/// What makes f32 because no attribute names a type makes narrow floats, too.
TEST(NarrowFloats, ReachNodesThatNameNoType) {
  Builder b("net");
  const ValueId shape = b.integers("shape", {4});
  const ValueId random = b.add("RandomNormal", "random", {}, {{"shape", Shape{4}}});
  const ValueId zeros = b.add("ConstantOfShape", "zeros", {shape});
  const ValueId window = b.add("HannWindow", "window", {shape});
  const ValueId kept = b.add("RandomUniform", "kept", {}, {{"dtype", int64_t{11}}});
  for (const ValueId id : {random, zeros, window, kept})
    b.output(id, DataType::F64, {});
  const Graph net = with_narrow_floats(b.take(), DataType::BF16);
  EXPECT_EQ(std::get<int64_t>(net.nodes[0].attributes.at("dtype")), 16);
  EXPECT_EQ(std::get<Tensor>(net.nodes[1].attributes.at("value")).type(), DataType::BF16);
  EXPECT_EQ(std::get<int64_t>(net.nodes[2].attributes.at("output_datatype")), 16);
  EXPECT_EQ(std::get<int64_t>(net.nodes[3].attributes.at("dtype")), 11);
}

TEST(NarrowFloats, SizesAndOtherTypesStay) {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 1, 2, 2}));
  const ValueId n = b.input("n", DataType::I64, dims_of({2}));
  const ValueId scales = b.constant("scales", numbers({4}, 2));
  const ValueId shape = b.integers("shape", {4});
  const ValueId y = b.add("Resize", "y", {x, kAbsent, scales});
  const ValueId z = b.add("Mul", "z", {y, scales});
  const ValueId m = b.add("Reshape", "m", {n, shape});
  b.output(z, DataType::F32, {});
  b.output(m, DataType::I64, {});
  const Graph net = with_narrow_floats(b.take(), DataType::BF16);
  EXPECT_TRUE(spec(net).empty());
  for (const Node& node : net.nodes) {
    if (node.op == "Resize") {
      EXPECT_EQ(net.initializers.at(node.inputs[2]).type(), DataType::F32);
    }
    if (node.op == "Mul") {
      EXPECT_EQ(net.initializers.at(node.inputs[1]).type(), DataType::BF16);
    }
  }
  EXPECT_EQ(net.initializers.at(shape).type(), DataType::I64);
  EXPECT_EQ(std::count_if(net.nodes.begin(), net.nodes.end(),
                          [](const Node& node) { return node.op == "Cast"; }),
            2);
}

TEST(NarrowFloats, RefusesWhatHasNoNarrowForm) {
  Builder b("net");
  const ValueId x = b.input("x", DataType::F32, dims_of({1, 2, 3}));
  const ValueId w = b.constant("w", numbers({1, 16, 3}, 1)),
                r = b.constant("r", numbers({1, 16, 4}, 1));
  b.output(b.add("LSTM", "y", {x, w, r}, {{"hidden_size", int64_t{4}}}), DataType::F32, {});
  const auto refused = refuse_narrow_floats(b.graph(), DataType::BF16);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "K0735");
  EXPECT_EQ(render({*refused}), "error[K0735]: `net` cannot run in bf16\n\n"
                                "  Node `y` (LSTM) has no form for narrow floats.\n\n"
                                "  help: run it without --type\n");
}

} // namespace
} // namespace kawara::graph
