#include "graph/attributes.h"

#include "graph/attribute_table.h"
#include "graph/onnx/import.h"
#include "unit/graph/onnx_bytes.h"

#include <gtest/gtest.h>

namespace kawara::graph {
namespace {

using namespace onnx_bytes;

Node node_with(const std::string& op, Attributes attributes) {
  return {"the_node", op, "", {}, {}, std::move(attributes)};
}

std::string refusal(const std::string& op, Attributes attributes, int64_t opset = 22) {
  const auto d = refused_attribute(node_with(op, std::move(attributes)), opset);
  return d ? render(*d) : "";
}

TEST(Attributes, NamesTheNodeItsAttributeAndTheKnownOnes) {
  EXPECT_EQ(refusal("Softmax", {{"axes", int64_t{2}}}),
            "error[K0512]: node `the_node` (Softmax) has the attribute axes = 2, which Kawara does "
            "not know\n\n"
            "  In version 22 of the operators the attributes of Softmax are axis.\n\n"
            "  help: did you mean:  axis\n");
  EXPECT_EQ(refusal("Relu", {{"threshold", 0.5}}),
            "error[K0512]: node `the_node` (Relu) has the attribute threshold = 0.5, which Kawara "
            "does not know\n\n"
            "  In version 22 of the operators the attributes of Relu are none.\n");
}

TEST(Attributes, DependOnTheVersion) {
  const Attributes antialias = {{"antialias", int64_t{1}}};
  EXPECT_NE(refusal("Resize", antialias, 13), "");
  EXPECT_EQ(refusal("Resize", antialias, 18), "");
  EXPECT_EQ(refusal("Resize", antialias, 99), "");
  const Attributes axes = {{"axes", std::vector<int64_t>{0}}};
  EXPECT_EQ(refusal("Unsqueeze", axes, 11), "");
  EXPECT_NE(refusal("Unsqueeze", axes, 13), "");
}

TEST(Attributes, AreKnownWithTheirStandardValueAlone) {
  EXPECT_EQ(refusal("LayerNormalization", {{"stash_type", int64_t{1}}}), "");
  EXPECT_EQ(refusal("LayerNormalization", {{"stash_type", int64_t{11}}}),
            "error[K0512]: node `the_node` (LayerNormalization) has the attribute stash_type = 11, "
            "which Kawara does not know\n\n"
            "  Only its standard value is: 1.\n");
  EXPECT_NE(refusal("TfIdfVectorizer", {{"pool_strings", std::vector<std::string>{"a"}}}), "");
}

TEST(Attributes, HaveAKind) {
  EXPECT_EQ(refusal("Gather", {{"axis", std::string("one")}}),
            "error[K0512]: node `the_node` (Gather) has the attribute axis = \"one\", which Kawara "
            "does not know\n\n"
            "  It must be an integer, not a text.\n");
  EXPECT_NE(refusal("Elu", {{"alpha", int64_t{1}}}), "");
}

TEST(Attributes, OfOthersAreNotLookedAt) {
  EXPECT_EQ(refusal("NoSuchOperator", {{"x", int64_t{1}}}), "");
  Node other = node_with("Relu", {{"x", int64_t{1}}});
  other.domain = "com.example";
  EXPECT_FALSE(refused_attribute(other, 22));
}

TEST(Attributes, MustBeRead) {
  const Node resize =
      node_with("Resize", {{"antialias", int64_t{1}}, {"mode", std::string("linear")}});
  EXPECT_FALSE(unread_attribute(resize, 19, {"antialias", "mode"}));
  const auto problem = unread_attribute(resize, 19, {"mode"});
  ASSERT_TRUE(problem);
  EXPECT_EQ(render(*problem),
            "error[K0512]: node `the_node` (Resize) has the attribute antialias = 1, which Kawara "
            "does not know\n\n"
            "  For these inputs nothing is computed from it.\n");
  // Unless they have the standard value, or no influence.
  EXPECT_FALSE(unread_attribute(node_with("Resize", {{"antialias", int64_t{0}}}), 19, {}));
  EXPECT_FALSE(unread_attribute(node_with("Elu", {{"alpha", 1.0}}), 19, {}));
  EXPECT_TRUE(unread_attribute(node_with("Elu", {{"alpha", 1.5}}), 19, {}));
  EXPECT_FALSE(unread_attribute(node_with("Cast", {{"saturate", int64_t{0}}}), 19, {}));
  const Attributes axes = {{"axes", std::vector<int64_t>{0, 2, 3}}};
  EXPECT_FALSE(unread_attribute(node_with("MeanVarianceNormalization", axes), 19, {}));
}

TEST(Attributes, AreCheckedWhenAFileIsRead) {
  Parts parts{{node("Relu", {"x"}, {"y"}, integer_attribute("inplace", 1))},
              {},
              {value("x", kFloat, {2})},
              {value("y", kFloat, {2})}};
  const auto graph = graph_from_onnx(model(parts), "file", "");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, "K0512");
  EXPECT_NE(graph.error().headline.find("the_Relu"), std::string::npos);
}

TEST(Attributes, AreATableInOrder) {
  const auto rows = attribute_rows();
  for (size_t k = 1; k < rows.size(); ++k)
    EXPECT_TRUE(rows[k - 1].op < rows[k].op ||
                (rows[k - 1].op == rows[k].op && rows[k - 1].since < rows[k].since))
        << rows[k].op;
  for (const AttributeRow& row : rows)
    EXPECT_TRUE(unlisted_attributes(std::string(row.op), {"no_such_name"}).count("no_such_name"));
}

} // namespace
} // namespace kawara::graph
