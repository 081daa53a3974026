#include "driver/model/open_sizes.h"

#include "driver/model/model.h"
#include "graph/builder.h"

#include <gtest/gtest.h>

namespace kawara::driver {
namespace {

using graph::Builder;
using graph::DataType;
using graph::Dim;

const Dim kBatch{{}, "batch"}, kSeq{{}, "seq"}, kOpen{{}, ""};

/// Two inputs share a symbol; one has sizes without a name.
graph::Graph open_net() {
  Builder b("net");
  const ValueId tokens = b.input("tokens", DataType::F32, {kBatch, kSeq});
  const ValueId image = b.input("image", DataType::F32, {kBatch, {3, ""}, kOpen});
  const ValueId sums =
      b.add("ReduceSum", "sums", {image, b.integers("axes", {1, 2})}, {{"keepdims", int64_t{0}}});
  b.output(b.add("Add", "y", {b.add("Transpose", "transposed", {tokens}), sums}), DataType::F32,
           {});
  return b.take();
}

run::Datum zero_elements(const Shape& shape) { return {Tensor(DataType::F32, shape), false, {}}; }

std::string size_message(const std::map<std::string, run::Datum>& given, const InputSizes& sizes) {
  const auto shapes = shapes_of_inputs(open_net(), given, sizes);
  return shapes ? "" : render(shapes.error());
}

TEST(OpenSizes, AreRefusedAllAtOnce) {
  EXPECT_EQ(size_message({}, {}),
            "error[K0570]: `net` needs sizes that are not given\n\n"
            "  tokens: f32[batch, seq]\n"
            "  image: f32[batch, 3, ?]\n\n"
            "  help: give a size for each `?`:  -p seq=? --shape image=?x3x?\n"
            "  help: or give the tensors:       --input tokens=FILE.npy "
            "--input image=FILE.npy\n");
  EXPECT_EQ(size_message({}, {{{"batch", 2}}, {{"image", {2, 3, 8}}}}),
            "error[K0570]: `net` needs sizes that are not given\n\n"
            "  tokens: f32[batch, seq]\n\n"
            "  help: give a size for each `?`:  -p seq=?\n"
            "  help: or shapes:                 --shape tokens=2x?\n"
            "  help: or give the tensor:        --input tokens=FILE.npy\n");
}

TEST(OpenSizes, OfManyInputsAreShortened) {
  Builder b("decoder");
  for (int layer = 0; layer < 6; ++layer)
    b.output(b.add("Relu", "y" + std::to_string(layer),
                   {b.input("past" + std::to_string(layer), DataType::F32, {kSeq, {64, ""}})}),
             DataType::F32, {});
  const auto shapes = shapes_of_inputs(b.take(), {}, {});
  ASSERT_FALSE(shapes);
  EXPECT_EQ(render(shapes.error()),
            "error[K0570]: `decoder` needs sizes that are not given\n\n"
            "  past0: f32[seq, 64]\n"
            "  past1: f32[seq, 64]\n"
            "  past2: f32[seq, 64]\n"
            "  past3: f32[seq, 64]\n"
            "  ... and 2 more\n\n"
            "  help: give a size for each `?`:  -p seq=?\n"
            "  help: or give the tensors:       --input past0=FILE.npy --input past1=FILE.npy "
            "--input past2=FILE.npy --input past3=FILE.npy ... and 2 more\n");
}

TEST(OpenSizes, ComeFromNamesShapesAndInputs) {
  const auto shapes = [](const std::map<std::string, run::Datum>& given, const InputSizes& sizes) {
    const auto found = shapes_of_inputs(open_net(), given, sizes);
    EXPECT_TRUE(found) << render(found.error());
    return found ? *found : std::map<std::string, Shape>();
  };
  const std::map<std::string, Shape> all{{"tokens", {2, 5}}, {"image", {2, 3, 8}}};
  EXPECT_EQ(shapes({}, {{{"batch", 2}, {"seq", 5}}, {{"image", {2, 3, 8}}}}), all);
  EXPECT_EQ(shapes({}, {{{"seq", 5}}, {{"image", {2, 3, 8}}}}), all) << "batch stands in the shape";
  EXPECT_EQ(shapes({{"image", zero_elements({2, 3, 8})}}, {{{"seq", 5}}, {}}),
            (std::map<std::string, Shape>{{"tokens", {2, 5}}}))
      << "batch stands in the input";
  EXPECT_EQ(shapes({{"image", zero_elements({0, 3, 8})}}, {{{"seq", 5}}, {}}),
            (std::map<std::string, Shape>{{"tokens", {0, 5}}}));
}

TEST(OpenSizes, HaveOneSizeThroughout) {
  EXPECT_EQ(size_message({}, {{{"batch", 2}, {"seq", 5}}, {{"image", {3, 3, 8}}}}),
            "error[K0571]: input `image` cannot have the shape [3, 3, 8]\n\n"
            "  It is declared as f32[batch, 3, ?], and `batch` is given as 2.\n");
  EXPECT_EQ(size_message({{"tokens", zero_elements({4, 5})}}, {{}, {{"image", {3, 3, 8}}}}),
            "error[K0571]: input `tokens` cannot have the shape [4, 5]\n\n"
            "  It is declared as f32[batch, seq], and `batch` is 3 in the shape of `image`.\n");
  EXPECT_EQ(
      size_message({{"image", zero_elements({2, 3, 8})}}, {{{"seq", 5}}, {{"image", {2, 3, 9}}}}),
      "error[K0571]: input `image` cannot have the shape [2, 3, 9]\n\n"
      "  It is declared as f32[batch, 3, ?], and the input that is given is [2, 3, 8].\n");
}

TEST(OpenSizes, MustFitTheDeclaration) {
  for (const Shape& shape : {Shape{2, 3}, Shape{2, 4, 8}, Shape{2, 3, -1}})
    EXPECT_NE(size_message({}, {{{"seq", 5}}, {{"image", shape}}}).find("K0571"),
              std::string::npos);
  EXPECT_NE(size_message({}, {{}, {{"picture", {1}}}}).find("K0520"), std::string::npos);
  EXPECT_NE(size_message({}, {{{"rows", 1}}, {}}).find("K0569"), std::string::npos);
  EXPECT_NE(size_message({}, {{{"seq", -1}}, {}}).find("K0569"), std::string::npos);
}

TEST(OpenSizes, AnInputWithoutAShapeIsOpen) {
  Builder b("net");
  graph::Graph graph = [&] {
    const ValueId x = b.input("x", DataType::F32, {});
    b.output(b.add("Relu", "y", {x}), DataType::F32, {});
    return b.take();
  }();
  graph.values[graph.inputs[0]].type.shape.reset();
  EXPECT_EQ(shapes_of_inputs(graph, {}, {}).error().code, "K0570");
  const auto shapes = shapes_of_inputs(graph, {}, {{}, {{"x", {}}}});
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->at("x"), Shape{});
}

TEST(OpenSizes, ModelsDoNotMakeThemUp) {
  Model model(open_net());
  EXPECT_EQ(model.record({}).error().code, "K0570");
  EXPECT_EQ(model.inputs_for({}, {}).error().code, "K0570");
  const auto tape = model.record({}, {{{"batch", 2}, {"seq", 2}}, {{"image", {2, 3, 4}}}});
  ASSERT_TRUE(tape) << render(tape.error());
  EXPECT_EQ(tape->inputs[1].shape, (Shape{2, 3, 4}));
}

} // namespace
} // namespace kawara::driver
