#include "graph/zoo/zoo.h"

#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace kawara::graph::zoo {
namespace {

const Entry& entry(const std::vector<Entry>& all, const std::string& name) {
  for (const Entry& each : all)
    if (each.name == name)
      return each;
  ADD_FAILURE() << "no " << name;
  return all.front();
}

// What the papers and everybody's exports count.
TEST(Zoo, NetsHaveTheirKnownSizes) {
  const std::vector<Entry> all = entries();
  ASSERT_EQ(all.size(), 9U);
  EXPECT_EQ(entry(all, "resnet50").parameters, 25'557'032 + 2 * 26'560);
  EXPECT_NEAR(entry(all, "resnet50").flops, 8.18e9, 0.02e9);
  EXPECT_EQ(entry(all, "mobilenet-v2").parameters, 3'504'872 + 2 * 17'056);
  EXPECT_NEAR(entry(all, "mobilenet-v2").flops, 0.60e9, 0.01e9);
  EXPECT_EQ(entry(all, "vgg16").parameters, 138'357'544);
  EXPECT_NEAR(entry(all, "vgg16").flops, 30.94e9, 0.02e9);
  EXPECT_EQ(entry(all, "alexnet").parameters, 60'965'224);
  EXPECT_EQ(entry(all, "bert-base").parameters, 109'482'240 - (512 - 128) * 768);
  EXPECT_EQ(entry(all, "gpt2-prefill").parameters, 124'439'808);
  EXPECT_EQ(entry(all, "gpt2-decode").parameters, 124'439'808);
}

TEST(Zoo, WeightsAreTheSameEveryTimeAndSpread) {
  const auto a = make("mobilenet-v2"), b = make("mobilenet-v2");
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(spec(*a).empty());
  double sum = 0, squares = 0;
  int64_t elements = 0;
  for (const auto& [id, tensor] : a->initializers) {
    const Tensor& other = b->initializers.at(id);
    ASSERT_EQ(std::memcmp(tensor.data(), other.data(), static_cast<size_t>(tensor.bytes())), 0);
    if (a->values[id].name != "classes.weight")
      continue;
    for (elements = 0; elements < tensor.elements(); ++elements) {
      sum += tensor.get_double(elements);
      squares += tensor.get_double(elements) * tensor.get_double(elements);
    }
  }
  ASSERT_EQ(elements, 1'280'000);
  EXPECT_NEAR(sum / static_cast<double>(elements), 0, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(elements)), 1 / std::sqrt(1280.0), 1e-4);
}

TEST(Zoo, RefusesNamesAndSizesThatAreNot) {
  const auto name = make("resnet51");
  ASSERT_FALSE(name);
  EXPECT_EQ(render(name.error()),
            "error[K0561]: no net of the zoo is called `resnet51`\n"
            "\n"
            "  The nets are resnet50, mobilenet-v2, vgg16, alexnet, bert-base, gpt2-prefill, "
            "gpt2-decode, one-attention, channels-last.\n"
            "\n"
            "  help: did you mean:  resnet50\n");
  Choices past;
  past.past = 4;
  const auto size = make("vgg16", past);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().code, "K0562");
  Choices none;
  none.batch = 0;
  const auto empty = make("alexnet", none);
  ASSERT_FALSE(empty);
  EXPECT_EQ(render(empty.error()), "error[K0562]: `alexnet` cannot have batch = 0\n"
                                   "\n"
                                   "  It must be 1 to 1024.\n");
}

/// A graph that comes back from a file as it was, elements included.
void expect_same_after_a_round_trip(const Graph& graph) {
  const auto bytes = onnx_from_graph(graph);
  ASSERT_TRUE(bytes);
  const auto again = graph_from_onnx(*bytes, "again.onnx", "");
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_TRUE(spec(*again).empty());
  EXPECT_EQ(print(*again), print(graph));
  const auto twice = onnx_from_graph(*again);
  ASSERT_TRUE(twice);
  EXPECT_TRUE(*bytes == *twice);
}

TEST(Export, NetsComeBackAsTheyWere) {
  const auto net = make("mobilenet-v2");
  ASSERT_TRUE(net);
  expect_same_after_a_round_trip(*net);
  for (const Entry& each : entries()) {
    Choices choices;
    choices.has_elements = false; // the others are large, and elements are elements
    const auto sketch = make(each.name, choices);
    ASSERT_TRUE(sketch);
    expect_same_after_a_round_trip(*sketch);
  }
}

TEST(Export, WeightsBesideTheModelComeBack) {
  const std::string folder = testing::TempDir();
  const auto net = make("mobilenet-v2");
  ASSERT_TRUE(net);
  ASSERT_TRUE(write_onnx(*net, folder + "split.onnx", {"split.onnx.data", 1024}));
  FILE* file = std::fopen((folder + "split.onnx").c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::string bytes(1 << 22, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  EXPECT_LT(bytes.size(), 300'000U);
  const auto again = graph_from_onnx(bytes, "split.onnx", folder);
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_EQ(print(*again), print(*net));
  EXPECT_EQ(*onnx_from_graph(*again), *onnx_from_graph(*net));
}

TEST(Export, KeepsEveryKindOfAttributeAndSubgraphs) {
  Builder inner("then");
  const ValueId seen = inner.constant("seen", Tensor(DataType::F32, {2}));
  inner.output(inner.add("Neg", "negated", {seen}), DataType::F32, {Dim{{}, "n"}});
  Builder builder("all", 21);
  const ValueId x = builder.input("x", DataType::Bool, {});
  Tensor elements(DataType::F16, {3});
  elements.set_double(1, 0.5);
  const ValueId y = builder.add("Choice", "choice", {x},
                                {{"then_branch", std::make_shared<const Graph>(inner.take())},
                                 {"i", int64_t{-3}},
                                 {"f", 0.25},
                                 {"s", std::string("word\0zero", 9)},
                                 {"t", elements},
                                 {"is", std::vector<int64_t>{1, -2}},
                                 {"fs", std::vector<double>{0.5}},
                                 {"ss", std::vector<std::string>{"a", ""}}});
  const auto parts = builder.add_many("Split", "parts", {y, kAbsent}, 2);
  builder.output(parts[1], DataType::U64, {Dim{{}, ""}, Dim{4, ""}});
  expect_same_after_a_round_trip(builder.graph());
}

TEST(Export, RefusesWhatIsTooLarge) {
  Builder builder("huge");
  // Elements that are never touched: two names for one tensor.
  const Tensor block(DataType::U8, {1 << 30}, make_memory(64));
  for (const char* name : {"a", "b", "c"})
    builder.constant(name, block);
  const auto refused = onnx_from_graph(builder.graph());
  ASSERT_FALSE(refused);
  EXPECT_EQ(render(refused.error()),
            "error[K0560]: the graph `huge` does not fit into one ONNX file\n"
            "\n"
            "  It has 3.2 GB of tensors; such a file holds 2 GiB.\n"
            "\n"
            "  help: keep the weights in a file beside the model\n");
}

} // namespace
} // namespace kawara::graph::zoo
