#include "program/interpret/instruction.h"

#include <gtest/gtest.h>

namespace kawara::program {
namespace {

using scalar::Elem;

Expr element(uint32_t tensor, Elem elem) {
  return scalar::cast(scalar::load(tensor, {scalar::iter(0)}, {elem, 1}), {Elem::I32, 1});
}

TEST(Instruction, programs_describe_registers) {
  for (const target::Intrinsic& data : target::intrinsics()) {
    SCOPED_TRACE(data.name);
    const Instruction instruction = instruction_of(data);
    EXPECT_EQ(instruction.operands.size(), 3U);
    for (const target::Register& held : data.arguments) {
      const Operand& operand = instruction.operands.at(
          held.operand == 'c' ? 2 : static_cast<size_t>(held.operand - 'a'));
      const auto elem = scalar::elem_from_name(held.elem);
      ASSERT_TRUE(elem);
      const int64_t bytes = held.lanes * scalar::bytes_of(*elem);
      const int64_t own = operand.lanes() * scalar::bytes_of(operand.elem);
      EXPECT_EQ(bytes % own, 0) << held.operand;
      EXPECT_TRUE(held.operand == 'a' || bytes == own) << held.operand;
    }
  }
}

TEST(Instruction, dot_products_are_read_as_written) {
  const Instruction dot = instruction_of(*target::find_intrinsic("neon.sdot"));
  EXPECT_EQ(dot.axes, (std::vector<std::string>{"j", "k"}));
  EXPECT_EQ(dot.extents, (std::vector<int64_t>{4, 4}));
  EXPECT_FALSE(dot.operands[0].follows(0));
  EXPECT_TRUE(dot.operands[1].follows(0));
  EXPECT_EQ(dot.result().lanes(), 4);
  EXPECT_EQ(element_at(dot.operands[1], 6), (std::vector<int64_t>{1, 2}));
}

TEST(Instruction, loads_match_by_meaning) {
  const Instruction dot = instruction_of(*target::find_intrinsic("neon.sdot"));
  const Expr x = element(7, Elem::I8), y = element(9, Elem::I8), wide = element(9, Elem::I16);
  EXPECT_EQ(matching_loads(dot, x * y).size(), 2U) << "either side may be either operand";
  EXPECT_TRUE(matching_loads(dot, x * wide).empty());
  EXPECT_TRUE(matching_loads(dot, x + y).empty());
  EXPECT_TRUE(matching_loads(dot, x * scalar::int_lit(3, {Elem::I32, 1})).empty());
  const Instruction mixed = instruction_of(*target::find_intrinsic("neon.usdot"));
  const Expr u = element(3, Elem::U8);
  const auto ways = matching_loads(mixed, x * u);
  ASSERT_EQ(ways.size(), 1U);
  EXPECT_EQ(scalar::as<scalar::Load>(ways[0][0])->tensor, 3U);
}

} // namespace
} // namespace kawara::program
