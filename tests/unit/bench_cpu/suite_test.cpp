#include "cpu/bytes.h"
#include "cpu/kawara_contestant.h"
#include "cpu/networks.h"
#include "cpu/operands.h"
#include "cpu/peers/onnx_model.h"
#include "cpu/program_text.h"
#include "cpu/suite.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace kawara::bench {
namespace {

/// A small copy of the first case of an operation.
Case small_case(Op op) {
  for (Case c : all_cases())
    if (c.op == op) {
      c.m = op == Op::Attention ? 2 : 24;
      c.n = 20;
      c.k = 16;
      c.conv.channels = 4;
      c.conv.size = op == Op::ConvPool ? 24 : 12;
      c.conv.filters = c.conv.is_depthwise ? 4 : 6;
      return c;
    }
  return {};
}

/// Gives back the definition's values, off by something in one element.
class Fake final : public Contestant {
public:
  explicit Fake(float off) : off_(off) {}
  const char* name() const override { return "fake"; }
  const char* version() const override { return ""; }
  bool prepare(const Case& c, const Operands& x) override {
    elements_.clear();
    for (int64_t i = 0; i < output_elements(c); ++i)
      elements_.push_back(static_cast<float>(expected_element(c, x, i)));
    elements_[elements_.size() / 2 + 1] += off_;
    return true;
  }
  void run() override {}
  void output(float* elements) const override {
    std::memcpy(elements, elements_.data(), elements_.size() * sizeof(float));
  }
  void release() override {}

private:
  float off_;
  std::vector<float> elements_;
};

TEST(Cases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Case& c : all_cases())
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

TEST(Cases, ProductsComeFromAText) {
  const std::vector<Case> cases = product_cases("3 5 7\n1 4096 2\n");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name, "gemm 3,5,7");
  EXPECT_EQ(cases[1].n, 4096);
  EXPECT_EQ(cases[1].flops, 2.0 * 4096 * 2);
  EXPECT_THROW(product_cases("3 5\n"), std::runtime_error);
  EXPECT_THROW(product_cases("3 5 7 9\n"), std::runtime_error);
  EXPECT_THROW(product_cases("3 0 7\n"), std::runtime_error);
}

TEST(Cases, NetworksHaveTheirConvolutions) {
  EXPECT_EQ(resnet50().convolutions.size(), 53U);
  EXPECT_EQ(mobilenet_v2().convolutions.size(), 52U);
  double flops = 0;
  for (const Case& c : selected_cases("conv", ""))
    if (const auto uses = c.uses.find("ResNet-50"); uses != c.uses.end())
      flops += c.flops * static_cast<double>(uses->second);
  EXPECT_NEAR(flops * 1e-9, 8.174, 0.001) << "multiply-adds of all 53, twice";
}

TEST(Suite, ProgramsMeanTheirOperations) {
  Contestants contestants;
  for (const Way way : {Way::Default, Way::Fast, Way::Separate})
    contestants.push_back(make_kawara(way, ""));
  for (const Op op :
       {Op::Gemm, Op::GemmI8, Op::GemmF16, Op::Conv, Op::Attention, Op::Softmax, Op::LayerNorm,
        Op::Gelu, Op::AddRelu, Op::Transpose, Op::GemmGelu, Op::ConvPool}) {
    const Row row = run_case(small_case(op), contestants, {1e-4, 3, 1});
    EXPECT_NE(find_entry(row, "kawara"), nullptr);
    for (const Entry& entry : row.entries) {
      EXPECT_TRUE(entry.counts()) << row.c.name << ", " << entry.contestant << ": " << entry.failure
                                  << " error " << entry.agreement.error;
      EXPECT_EQ(entry.timing.samples.size(), 3U);
      EXPECT_GT(entry.timing.median, 0);
    }
  }
}

TEST(Suite, TheDefaultScheduleTakesPart) {
  Contestants contestants;
  contestants.push_back(make_kawara(Way::Default));
  const Row row = run_case(small_case(Op::Gemm), contestants, {1e-4, 3, 1});
  EXPECT_TRUE(row.entries.at(0).counts()) << row.entries[0].failure;
}

TEST(Suite, EveryShapeOfConvolutionIsAProgram) {
  Contestants contestants;
  contestants.push_back(make_kawara(Way::Default, ""));
  for (const Conv& conv : {Conv{3, 9, 4, 7, 2, 3, false}, Conv{4, 8, 5, 1, 2, 0, false},
                           Conv{4, 8, 4, 3, 2, 1, true}, Conv{4, 8, 4, 3, 1, 1, true}}) {
    Case c = small_case(Op::Conv);
    c.conv = conv;
    const Row row = run_case(c, contestants, {1e-4, 3, 1});
    EXPECT_TRUE(row.entries[0].counts()) << fused_program(c).programs[0] << row.entries[0].failure;
  }
}

TEST(Suite, AWrongElementIsFoundAndBlamedOnTheRightOne) {
  for (const Op op :
       {Op::Gemm, Op::GemmI8, Op::Conv, Op::Softmax, Op::Transpose, Op::GemmGelu, Op::ConvPool}) {
    Contestants contestants;
    contestants.push_back(std::make_unique<Fake>(0.5F));
    contestants.push_back(std::make_unique<Fake>(0.0F));
    const Row row = run_case(small_case(op), contestants, {1e-5, 3, 1});
    EXPECT_FALSE(row.entries[0].agreement.is_right);
    EXPECT_TRUE(row.entries[1].agreement.is_right) << row.entries[1].agreement.error;
  }
}

TEST(Bytes, OfOneProgramAreFewerThanOfSeveral) {
  Case c = small_case(Op::AddRelu);
  c.m = c.n = 1024; // 4 MiB each
  const MovedBytes moved = moved_bytes(c);
  ASSERT_FALSE(moved.levels.empty());
  const LevelBytes& nearest = moved.levels.front();
  EXPECT_EQ(nearest.from, "L2");
  const double matrix = 4.0 * 1024 * 1024;
  // Simulated caches also fetch the lines that are stored.
  EXPECT_NEAR(nearest.one_replayed, 4 * matrix, 0.01 * matrix);
  EXPECT_NEAR(nearest.one_predicted, 3 * matrix, 0.01 * matrix);
  EXPECT_NEAR(nearest.several_replayed, 7 * matrix, 0.01 * matrix);
  EXPECT_NEAR(nearest.several_predicted, 5 * matrix, 0.01 * matrix);
  EXPECT_NE(table_of({moved}).find("0.57"), std::string::npos) << table_of({moved});
}

TEST(Race, TakesTurnsAndStopsInTime) {
  std::vector<char> order;
  const std::vector<std::function<void()>> works = {[&] { order.push_back('a'); },
                                                    [&] { order.push_back('b'); }};
  const auto timings = race(works, {1e-9, 4, 10});
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].samples.size(), 4U);
  EXPECT_EQ(timings[1].batch, 1);
  // Each round is one call to warm up and one timed call of each; rounds begin in turns.
  const std::string rounds(order.end() - 16, order.end());
  EXPECT_EQ(rounds, "aabbbbaaaabbbbaa");
}

TEST(OnnxModel, IsWrittenFieldByField) {
  OnnxModel model;
  model.input("X", OnnxType::F32, {2, 300});
  // The version of the format; a graph of 28 bytes; its input X, f32 with extents 2 and 300; its
  // name.
  const std::string head = "\x08\x08\x3a\x1c";
  const std::string input = "\x5a\x14\x0a\x01X\x12\x0f\x0a\x0d\x08\x01\x12\x09"
                            "\x0a\x02\x08\x02\x0a\x03\x08\xac\x02";
  const std::string name = "\x12\x04"
                           "case";
  EXPECT_EQ(model.bytes(20).substr(0, 32), head + input + name);
}

} // namespace
} // namespace kawara::bench
