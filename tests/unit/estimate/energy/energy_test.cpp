#include "estimate/energy/energy.h"

#include <gtest/gtest.h>

namespace kawara::estimate {
namespace {

MachineFile machine(const std::string& name) {
  auto made = machine_file(make_source(name, *installed_machine(name)));
  EXPECT_TRUE(made) << name;
  return *std::move(made);
}

/// Picojoules of one thing alone.
Band pico(const std::string& name, const Activity& activity) {
  const Energy energy = energy_of(*machine(name).energy, activity);
  EXPECT_TRUE(energy.missing.empty()) << name;
  return energy.joules() * 1e12;
}

/// Horowitz' table (ISSCC'14): 8 bytes take 10 pJ from 8 KB, 100 pJ from 1 MB, 1.3 to 2.6 nJ from
/// DRAM; an f32 add 0.9 pJ and multiply 3.7 pJ; an instruction 70 pJ, 6 of them for registers.
TEST(Energy, IsThatOfTheTextbook) {
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"L1", 8}}}).value, 10, 1e-9);
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"L2", 8}}}).value, 100, 1e-9);
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"memory", 8}}}).low, 1296, 1e-9);
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"memory", 8}}}).high, 2600, 1e-9);
  const Band two = pico("textbook-45nm", {{{scalar::Elem::F32, 2}}, {}});
  EXPECT_NEAR(two.value, 0.9 + 3.7, 1e-9);
  // As an instruction of one lane: a multiply-add, its 64 pJ, and three words of 4 bytes.
  const Band instruction = pico("textbook-45nm", {{{scalar::Elem::F32, 2}}, {}, 0, 4});
  EXPECT_NEAR(instruction.value, 0.9 + 3.7 + 70, 1e-9);
}

/// 5, 50 and 640 pJ for a word of 4 bytes from L1, the last cache and DRAM (Dally): within the
/// band.
TEST(Energy, HasTheKeynotesFiguresInItsBand) {
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"L1", 4}}}).value, 5, 0.01);
  EXPECT_NEAR(pico("textbook-45nm", {{}, {{"L2", 4}}}).value, 50, 0.01);
  const Band word = pico("textbook-45nm", {{}, {{"memory", 4}}});
  EXPECT_NEAR(word.low, 640, 10);
  EXPECT_GE(word.high, 640);
}

/// Antepara SC'25 in picojoules a bit: GH200 11.68 from HBM, 4.87 from L2, 1.45 from L1; an fp16
/// product 0.52 pJ a FLOP, of an A100 0.70 of which 0.33 is data.
TEST(Energy, IsThatOfPublishedMeasurements) {
  EXPECT_NEAR(pico("h200", {{}, {{"memory", 1}}}).value / 8, 11.68, 0.01);
  EXPECT_NEAR(pico("h200", {{}, {{"L2", 1}}}).value / 8, 4.87, 0.01);
  EXPECT_NEAR(pico("h200", {{}, {{"L1", 1}}}).value / 8, 1.45, 0.01);
  EXPECT_NEAR(pico("h200", {{{scalar::Elem::F16, 1}}, {}}).value, 0.52, 1e-9);
  EXPECT_NEAR(pico("a100", {{{scalar::Elem::F16, 1}}, {}}).value, 0.70, 1e-9);
  EXPECT_NEAR(pico("a100", {{{scalar::Elem::F16, 1}}, {}}).low, 0.33, 1e-9);
}

/// bf16, 8192^3, on an H200 with random numbers: 1.018 pJ a FLOP all in, at 676 TFLOP/s.
TEST(Energy, HasAMeasuredProductInItsBand) {
  const double flops = 2.0 * 8192 * 8192 * 8192, seconds = flops / 676e12;
  const double words = 8192.0 * 8192 * 2 * 3;
  const Energy energy = energy_of(*machine("h200").energy,
                                  {{{scalar::Elem::BF16, flops}}, {{"memory", words}}, seconds});
  EXPECT_LT(energy.joules().low, 1.018e-12 * flops);
  EXPECT_GT(energy.joules().high, 1.018e-12 * flops);
  EXPECT_LT(energy.joules().value, energy.joules().high);
}

TEST(Energy, AddsPartsUpAndNamesWhatIsMissing) {
  const MachineFile m3 = machine("m3-pro");
  const Energy energy = energy_of(
      *m3.energy,
      {{{scalar::Elem::F32, 1e9}, {scalar::Elem::F64, 1}}, {{"L2", 10}, {"memory", 1e6}}, 1e-3});
  EXPECT_EQ(energy.missing, (std::vector<std::string>{"f64 operations", "bytes from L2",
                                                      "seconds of constant power"}));
  ASSERT_EQ(energy.parts.size(), 2U);
  EXPECT_DOUBLE_EQ(energy.joules().value, 1e9 * 1.1e-12 + 1e6 * 38e-12);
  const std::string text = print(energy, m3.name, 1e9);
  EXPECT_NE(text.find("left out, no figure: bytes from L2"), std::string::npos);
}

/// A type without a figure has that of the next wider one of its kind.
TEST(Energy, TakesWiderTypesForNarrowOnes) {
  const MachineFile textbook = machine("textbook-45nm");
  const Energy energy = energy_of(*textbook.energy, {{{scalar::Elem::I8, 2}}, {}});
  EXPECT_DOUBLE_EQ(energy.joules().value, 4.6e-12);
}

} // namespace
} // namespace kawara::estimate
