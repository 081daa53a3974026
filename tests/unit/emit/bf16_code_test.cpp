#include "emit/unit.h"

#include <gtest/gtest.h>

namespace kawara::emit {
namespace {

/// to[0..7] = bf16(from[0..7]), as code of a processor.
std::string rounded_on(const CodeTarget& target) {
  kernel::Kernel k;
  k.name = "rounded";
  const scalar::Expr cells = scalar::ramp(scalar::int_lit(0), 1, 8);
  for (const auto& [name, elem] :
       {std::pair{"from", scalar::Elem::F32}, {"to", scalar::Elem::BF16}})
    k.buffers.push_back(
        {name, elem, {scalar::int_lit(8)}, kernel::Scope::Argument, program::Role::Inout});
  k.body.emplace_back(kernel::Store{
      1, {cells}, scalar::ReduceOp::None, scalar::load(0, {cells}, {scalar::Elem::F32, 8})});
  EmitOptions options;
  options.target = target;
  return module_from_kernel(k, options).assembly();
}

TEST(Bf16Code, RoundsWithAnInstructionWhereThatIsExact) {
  const std::string triple = "aarch64-unknown-linux-gnu";
  EXPECT_NE(rounded_on({triple, "neoverse-v1", "+bf16,-sve"}).find("bfcvtn"), std::string::npos);
  EXPECT_EQ(rounded_on({triple, "neoverse-n1", ""}).find("bfcvtn"), std::string::npos);
  EXPECT_EQ(rounded_on({"x86_64-unknown-linux-gnu", "sapphirerapids", ""}).find("vcvtneps2bf16"),
            std::string::npos)
      << "denormal numbers would become zero";
}

} // namespace
} // namespace kawara::emit
