#include "program/fusion/partition.h"

#include "program/fusion/inline_maps.h"
#include "program/fusion/nests.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program::fusion {
namespace {

Program program_of(const std::string& text) {
  auto program = parse(make_source("test.kw", text));
  EXPECT_TRUE(program) << text;
  return *std::move(program);
}

Part part_of(const std::string& text, std::vector<ValueId> values) {
  Part part{program_of(text), std::move(values)};
  while (part.values.size() < part.program.tensors.size())
    part.values.push_back(kNoValue);
  return part;
}

Draft draft_of(const std::string& op, const std::string& text, std::vector<ValueId> values) {
  return {op, op, part_of(text, std::move(values)), text};
}

const char* const kProduct = "input X0: f32[6, 4]\nconst X1: f32[4, 8]\noutput Y0: f32[6, 8]\n"
                             "Y0[i, j] = sum(k, X0[i, k] * X1[k, j])\n";
const char* const kRelu = "input X0: f32[48]\noutput Y0: f32[48]\nY0[i0] = max(X0[i0], 0)\n";
const char* const kBias = "input X0: f32[6, 8]\nconst X1: f32[8]\noutput Y0: f32[6, 8]\n"
                          "Y0[i0, i1] = X0[i0, i1] + X1[i1]\n";
const char* const kSigmoid = "input X0: f32[48]\noutput Y0: f32[48]\nY0[i0] = sigmoid(X0[i0])\n";
const char* const kMul = "input X0: f32[48]\ninput X1: f32[48]\noutput Y0: f32[48]\n"
                         "Y0[i0] = X0[i0] * X1[i0]\n";

/// Results of the parts one after the other, by value.
std::map<ValueId, Array> run_apart(const std::vector<Part>& parts, std::map<ValueId, Array> known) {
  for (const Part& part : parts) {
    Arrays inputs;
    for (size_t t = 0; t < part.values.size(); ++t) {
      const Tensor& tensor = part.program.tensors[t];
      if (tensor.role != Role::Input)
        continue;
      Array array(tensor.elem, extents_of(tensor));
      const auto at = known.find(part.values[t]);
      if (at == known.end())
        known[part.values[t]] = array =
            fill_pattern(tensor.elem, extents_of(tensor), part.values[t]);
      else
        std::copy_n(at->second.data(), array.bytes(), array.data());
      inputs.emplace(tensor.name, std::move(array));
    }
    auto results = interpret(part.program, {}, std::move(inputs));
    EXPECT_TRUE(results);
    for (size_t t = 0; t < part.values.size(); ++t)
      if (part.program.tensors[t].role == Role::Output)
        known[part.values[t]] = results->at(part.program.tensors[t].name);
  }
  return known;
}

void expect_same(const std::vector<Part>& parts, const Composed& composed) {
  const auto known = run_apart(parts, {});
  const Program whole = program_of(composed.text);
  Part part{whole, {}};
  size_t operand = 0, result = 0;
  for (const Tensor& tensor : whole.tensors)
    part.values.push_back(tensor.role == Role::Input    ? composed.operands[operand++]
                          : tensor.role == Role::Output ? composed.results[result++]
                                                        : kNoValue);
  std::map<ValueId, Array> given;
  for (const ValueId id : composed.operands)
    given[id] = known.at(id);
  const auto got = run_apart({part}, given);
  for (const ValueId id : composed.results)
    for (int64_t k = 0; k < got.at(id).elements(); ++k)
      ASSERT_NEAR(got.at(id).get_double(k), known.at(id).get_double(k), 1e-6);
}

TEST(Mapping, FollowsTheTable) {
  using enum Mapping;
  EXPECT_EQ(mapping_of("Conv"), ManyToMany);
  EXPECT_EQ(mapping_of("Relu"), OneToOne);
  EXPECT_EQ(mapping_of("Reshape"), Reorganise);
  EXPECT_EQ(pairing_of(ManyToMany, OneToOne).verdict, Verdict::Fuse);
  EXPECT_EQ(pairing_of(ManyToMany, OneToOne).result, ManyToMany);
  EXPECT_EQ(pairing_of(ManyToMany, ManyToMany).verdict, Verdict::Never);
  EXPECT_EQ(pairing_of(OneToMany, ManyToMany).verdict, Verdict::Never);
  EXPECT_EQ(pairing_of(Shuffle, Reorganise).result, Reorganise);
}

TEST(Nests, CommonRefinementCutsBoth) {
  EXPECT_EQ(common_refinement({6, 8}, {48}), (Extents{6, 8}));
  EXPECT_EQ(common_refinement({4, 6}, {2, 12}), (Extents{2, 2, 6}));
  EXPECT_EQ(common_refinement({4, 6}, {3, 8}), std::nullopt);
  EXPECT_EQ(common_refinement({}, {1}), Extents{});
  EXPECT_EQ(common_refinement({}, {4}), std::nullopt);
  EXPECT_EQ(common_refinement({2, 3}, {2}), std::nullopt);
  EXPECT_EQ(common_refinement({0, 3}, {0, 3}), (Extents{0, 3}));
  EXPECT_EQ(common_refinement({0, 3}, {3, 0}), std::nullopt);
}

TEST(Nests, RefinedHasTheShapeOrIsNothing) {
  const Program relu = program_of(kRelu);
  const auto cut = refined(relu, 0, {6, 8});
  ASSERT_TRUE(cut);
  EXPECT_EQ(extents_of(cut->tensors[0]), (Extents{6, 8}));
  // A caller that cuts until shapes agree would go on for ever.
  EXPECT_FALSE(refined(relu, 0, {48, 2}));
  EXPECT_FALSE(refined(relu, 0, {}));
}

TEST(Compose, PutsWhatFollowsAProductIntoOneStatement) {
  const std::vector<Part> parts{part_of(kProduct, {0, 1, 2}), part_of(kBias, {2, 3, 4}),
                                part_of(kRelu, {4, 5})};
  const auto composed = compose(parts, {5});
  ASSERT_TRUE(composed) << composed.error();
  EXPECT_EQ(composed->operands, (std::vector<ValueId>{0, 1, 3}));
  EXPECT_EQ(composed->results, std::vector<ValueId>{5});
  EXPECT_NE(composed->text.find("Y0[i0, i1] = max(T0[i0, i1] + X2[i1], 0"), std::string::npos)
      << composed->text;
  expect_same(parts, *composed);
}

TEST(Compose, KeepsResultsThatOthersNeed) {
  const std::vector<Part> parts{part_of(kBias, {0, 1, 2}), part_of(kRelu, {2, 3})};
  const auto composed = compose(parts, {2, 3});
  ASSERT_TRUE(composed);
  EXPECT_EQ(composed->results, (std::vector<ValueId>{2, 3}));
  expect_same(parts, *composed);
}

TEST(Compose, JoinsBranchesThatMeet) {
  const std::vector<Part> parts{part_of(kBias, {0, 1, 2}), part_of(kSigmoid, {2, 3}),
                                part_of(kMul, {2, 3, 4})};
  const auto composed = compose(parts, {4});
  ASSERT_TRUE(composed);
  EXPECT_EQ(program_of(composed->text).statements.size(), 1U) << composed->text;
  expect_same(parts, *composed);
}

TEST(Compose, RefusesLoopsThatCannotBeCut) {
  // The product's rows are 6, the element-wise operator wants [12, 4].
  const std::vector<Part> parts{
      part_of(kProduct, {0, 1, 2}),
      part_of("input X0: f32[12, 4]\nconst X1: f32[4]\noutput Y0: f32[12, 4]\n"
              "Y0[i0, i1] = X0[i0, i1] + X1[i1]\n",
              {2, 3, 4})};
  const auto composed = compose(parts, {4});
  ASSERT_FALSE(composed);
  EXPECT_EQ(composed.error(), "loops over [6, 8] would have to be cut to [6, 2, 4]");
}

TEST(Compose, RefusesToComputeElementsAgain) {
  // Each element of the first result is read six times.
  const std::vector<Part> parts{
      part_of("input X0: f32[8]\noutput Y0: f32[8]\nY0[i] = exp(X0[i])\n", {0, 1}),
      part_of("input X0: f32[6, 8]\ninput X1: f32[8]\noutput Y0: f32[6, 8]\n"
              "Y0[i0, i1] = X0[i0, i1] * X1[i1]\n",
              {2, 1, 3})};
  const auto composed = compose(parts, {3});
  ASSERT_FALSE(composed);
  EXPECT_EQ(composed.error(), "each element of the value would be used 6 times");
}

TEST(Compose, ReadsThroughPadding) {
  const std::vector<Part> parts{
      part_of(kRelu, {0, 1}),
      part_of("input X0: f32[6, 8]\noutput Y0: f32[6, 8]\ntemp P: f32[6, 10]\n"
              "for a in range(6):\n  for i in range(10):\n    if i >= 1 and i < 9:\n"
              "      P[a, i] = X0[a, i - 1]\n    else:\n      P[a, i] = 0\n"
              "Y0[a, o] = sum((k in range(3)), P[a, o + k])\n",
              {1, 2})};
  const auto composed = compose(parts, {2});
  ASSERT_TRUE(composed) << composed.error();
  EXPECT_EQ(composed->text.find("T1"), std::string::npos) << composed->text;
  expect_same(parts, *composed);
}

TEST(Partition, GrowsProductsAndChains) {
  const std::vector<Draft> drafts{
      draft_of("MatMul", kProduct, {0, 1, 2}),
      draft_of("Add", kBias, {2, 3, 4}),
      draft_of("Sigmoid", kSigmoid, {4, 5}),
      draft_of("Mul", kMul, {4, 5, 6}),
      draft_of("MatMul",
               "input X0: f32[6, 8]\nconst X1: f32[8, 8]\noutput Y0: f32[6, 8]\n"
               "Y0[i, j] = sum(k, X0[i, k] * X1[k, j])\n",
               {6, 7, 8}),
      draft_of("Relu", kRelu, {8, 9})};
  const Partition parts = partition(drafts, {9});
  ASSERT_EQ(parts.groups.size(), 2U);
  EXPECT_EQ(parts.groups[0].members, (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(parts.groups[1].members, (std::vector<size_t>{4, 5}));
  // Three values of 192 bytes are neither written nor read: 2 and 4 once each way, 4 read twice.
  EXPECT_EQ(parts.groups[0].bytes_saved, 192 * 7);
  ASSERT_EQ(parts.borders.size(), 1U);
  EXPECT_EQ(parts.borders[0].why, "many-to-many followed by many-to-many is never fused");
}

TEST(Partition, DoesNotLeaveAGroupAndComeBack) {
  // relu -> product -> mul, and relu -> mul: fusing relu and mul would need the product in between.
  const std::vector<Draft> drafts{
      draft_of("Relu", kRelu, {0, 1}),
      draft_of("MatMul",
               "input X0: f32[6, 8]\nconst X1: f32[8, 8]\noutput Y0: f32[6, 8]\n"
               "Y0[i, j] = sum(k, X0[i, k] * X1[k, j])\n",
               {1, 2, 3}),
      draft_of("Mul", kMul, {1, 3, 4})};
  const Partition parts = partition(drafts, {4});
  ASSERT_EQ(parts.groups.size(), 2U);
  EXPECT_EQ(parts.groups[0].members, std::vector<size_t>{0});
  EXPECT_EQ(parts.groups[1].members, (std::vector<size_t>{1, 2}));
}

TEST(Partition, ApartHasOneGroupEach) {
  const std::vector<Draft> drafts{draft_of("Add", kBias, {0, 1, 2}),
                                  draft_of("Relu", kRelu, {2, 3})};
  EXPECT_EQ(run_in_subprocess(drafts).groups.size(), 2U);
  EXPECT_EQ(partition(drafts, {3}).groups.size(), 1U);
}

} // namespace
} // namespace kawara::program::fusion
