#include "emit/unit.h"

#include <gtest/gtest.h>

namespace kawara::emit {
namespace {

/// to[0..7] = bf16(from[0..7]), as code of a processor.
std::string rounded_on(const CodeTarget& target) {
  kernel::Kernel k;
  k.name = "rounded";
  const scalar::Expr elements = scalar::ramp(scalar::int_lit(0), 1, 8);
  for (const auto& [name, elem] :
       {std::pair{"from", scalar::Elem::F32}, {"to", scalar::Elem::BF16}})
    k.buffers.push_back(
        {name, elem, {scalar::int_lit(8)}, kernel::Scope::Argument, program::Role::Inout});
  k.body.emplace_back(kernel::Store{
      1, {elements}, scalar::ReduceOp::None, scalar::load(0, {elements}, {scalar::Elem::F32, 8})});
  EmitOptions options;
  options.target = target;
  return *module_from_kernel(k, options).assembly();
}

TEST(Bf16Code, RoundsWithAnInstructionWhereThatIsExact) {
  const std::string triple = "aarch64-unknown-linux-gnu";
  EXPECT_NE(rounded_on({triple, "neoverse-v1", "+bf16,-sve"}).find("bfcvtn"), std::string::npos);
  EXPECT_EQ(rounded_on({triple, "neoverse-n1", ""}).find("bfcvtn"), std::string::npos);
  EXPECT_EQ(rounded_on({"x86_64-unknown-linux-gnu", "sapphirerapids", ""}).find("vcvtneps2bf16"),
            std::string::npos)
      << "denormal numbers would become zero";
}

/// Of a loop that counts by its address LLVM makes stores that move the address.
TEST(Bf16Code, SingleElementsAreStoredWhileTheirAddressMoves) {
  for (const int level : {0, 3})
    for (const int64_t stride : {1, 2, 5}) {
      kernel::Kernel k;
      k.name = "elements";
      for (const auto& [name, elem] :
           {std::pair{"to", scalar::Elem::BF16}, {"from", scalar::Elem::F32}})
        k.buffers.push_back(
            {name, elem, {scalar::int_lit(128)}, kernel::Scope::Argument, program::Role::Inout});
      const uint32_t i = add_variable(k, "i", scalar::kIndex);
      kernel::For loop;
      loop.var = i;
      loop.lo = scalar::int_lit(0);
      loop.hi = scalar::int_lit(21);
      const auto at = [&](int64_t element) {
        return scalar::simplify(scalar::var(i) * scalar::int_lit(stride) +
                                scalar::int_lit(element));
      };
      const auto f32 = [](const scalar::Expr& e) {
        return scalar::cast(e, {scalar::Elem::F32, 1});
      };
      const scalar::Expr before = scalar::load(0, {at(0)}, {scalar::Elem::BF16, 1});
      const scalar::Expr one = scalar::load(1, {scalar::int_lit(2)}, {scalar::Elem::F32, 1});
      loop.body.emplace_back(
          kernel::Store{0, {at(stride)}, scalar::ReduceOp::None, f32(before) * one});
      k.body.emplace_back(std::move(loop));
      EXPECT_EQ(kernel::spec(k), std::vector<std::string>{});
      EmitOptions options;
      options.opt_level = level;
      options.target = CodeTarget{"aarch64-unknown-linux-gnu", "neoverse-v1", "+bf16,-sve"};
      const auto text = module_from_kernel(k, options).assembly();
      ASSERT_TRUE(text) << render(text.error());
      EXPECT_NE(text->find("bfcvt"), std::string::npos) << *text;
    }
}

} // namespace
} // namespace kawara::emit
