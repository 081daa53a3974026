#include "graph/onnx/import.h"

#include "unit/graph/onnx_bytes.h"

#include <gtest/gtest.h>

namespace kawara::graph {
namespace {

using namespace onnx_bytes;

Result<Graph, Diagnostic> read(const std::string& file) {
  return graph_from_onnx(file, "model.onnx", "no such folder");
}

std::string code_of(const std::string& file) {
  const auto graph = read(file);
  return graph ? "none" : graph.error().code;
}

const Parts kSum{{node("Add", {"a", "b"}, {"c"})},
                 {},
                 {value("a", kFloat, {2, -1}), value("b", kFloat, {2, 3})},
                 {value("c", kFloat, {2, 3})}};

TEST(Import, ReadsNodesAndTypes) {
  const auto graph = read(model(kSum));
  ASSERT_TRUE(graph);
  EXPECT_TRUE(spec(*graph).empty());
  EXPECT_EQ(print(*graph), "graph hand_made\n"
                           "opset  17\n"
                           "input  a: f32[2, n]\n"
                           "input  b: f32[2, 3]\n"
                           "c = Add(a, b)\n"
                           "output c: f32[2, 3]\n");
}

TEST(Import, SkipsWhatNewerVersionsAdded) {
  EXPECT_EQ(code_of(model(kSum, 21) + number(99, 5) + bytes(77, "newer")), "none");
}

TEST(Import, BringsNodesIntoOrder) {
  Parts parts = kSum;
  parts.nodes = {node("Relu", {"c"}, {"d"}), node("Add", {"a", "b"}, {"c"})};
  const auto graph = read(model(parts));
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes[0].op, "Add");
}

TEST(Import, RefusesWhatIsNoModel) {
  EXPECT_EQ(code_of("not an onnx file"), "K0501");
  EXPECT_EQ(code_of(""), "K0501");
  const std::string whole = model(kSum);
  EXPECT_EQ(code_of(whole.substr(0, whole.size() - 3)), "K0501");
}

TEST(Import, RefusesUndefinedAndDoubleNames) {
  Parts undefined = kSum;
  undefined.nodes = {node("Add", {"a", "nowhere"}, {"c"})};
  EXPECT_EQ(code_of(model(undefined)), "K0502");
  EXPECT_NE(render(read(model(undefined)).error()).find("`nowhere`"), std::string::npos);
  Parts twice = kSum;
  twice.nodes.push_back(node("Relu", {"a"}, {"c"}));
  EXPECT_EQ(code_of(model(twice)), "K0502");
}

TEST(Import, RefusesCycles) {
  Parts parts = kSum;
  parts.nodes = {node("Add", {"a", "d"}, {"c"}), node("Relu", {"c"}, {"d"})};
  const auto graph = read(model(parts));
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "K0502");
  EXPECT_NE(graph.error().headline.find("cycle"), std::string::npos);
}

TEST(Import, RefusesTypesWithoutNumbers) {
  Parts parts = kSum;
  parts.initializers = {tensor("w", kString, {1}, "x")};
  EXPECT_EQ(code_of(model(parts)), "K0503");
  parts.initializers = {tensor("w", 17, {1}, "x")}; // an 8-bit float of newer versions
  EXPECT_EQ(code_of(model(parts)), "K0503");
}

TEST(Import, RefusesTensorsOfTheWrongSize) {
  Parts parts = kSum;
  parts.initializers = {tensor("w", kFloat, {3}, "12345678")};
  EXPECT_EQ(code_of(model(parts)), "K0504");
  parts.initializers = {tensor("w", kFloat, {1 << 30, 1 << 30}, "1234")};
  EXPECT_EQ(code_of(model(parts)), "K0504");
  parts.initializers = {tensor("w", kFloat, {-1}, "1234")};
  EXPECT_EQ(code_of(model(parts)), "K0504");
}

TEST(Import, ReadsExternalDataOnlyBelowItsFolder) {
  const auto external = [](const std::string& location) {
    const std::string entry = bytes(13, bytes(1, "location") + bytes(2, location));
    Parts parts = kSum;
    parts.initializers = {number(1, 1) + number(2, kFloat) + bytes(8, "w") + entry + number(14, 1)};
    return read(model(parts));
  };
  for (const char* location : {"weights.bin", "../weights.bin", "/etc/hostname", ""}) {
    const auto graph = external(location);
    ASSERT_FALSE(graph) << location;
    EXPECT_EQ(graph.error().code, "K0504") << location;
  }
}

TEST(Import, NeedsAVersionOfTheOperators) {
  EXPECT_EQ(code_of(number(1, 8) + bytes(7, onnx_bytes::graph(kSum))), "K0505");
}

TEST(Tensors, KnowTheirSizes) {
  EXPECT_EQ(elements_of({2, 3}), 6);
  EXPECT_EQ(elements_of({}), 1);
  EXPECT_EQ(elements_of({0, 1 << 30}), 0);
  EXPECT_EQ(elements_of({1 << 30, 1 << 30}), std::nullopt);
  EXPECT_EQ(elements_of({-1}), std::nullopt);
  EXPECT_THROW(Tensor(DataType::F64, {1 << 20, 1 << 20}), std::bad_alloc);
  Tensor t(DataType::U16, {2});
  t.set_int(1, 65535);
  EXPECT_EQ(t.get_int(1), 65535);
}

} // namespace
} // namespace kawara::graph
