#include "emit/unit.h"

#include <gtest/gtest.h>

#include <regex>

namespace kawara::emit {
namespace {

/// `C[0..32] = A[0..32] + A[0..32]`, in one vector.
kernel::Kernel vector_of_two_registers() {
  constexpr int64_t kLanes = 32;
  kernel::Kernel k;
  k.name = "add";
  for (const char* name : {"A", "C"})
    k.buffers.push_back({name,
                         scalar::Elem::F32,
                         {scalar::int_lit(kLanes)},
                         kernel::Scope::Argument,
                         program::Role::Inout});
  const scalar::Expr lanes = scalar::ramp(scalar::int_lit(0), 1, kLanes);
  const scalar::Expr value = scalar::load(0, {lanes}, {scalar::Elem::F32, kLanes});
  k.body.emplace_back(kernel::Store{1, {lanes}, scalar::ReduceOp::None, value + value});
  return k;
}

/// Offsets of stores in bytes, as they follow each other in the code.
std::vector<int> offsets_of_stores(const std::string& text, const std::string& registers) {
  const std::regex store("vmovup[sd]\\s+%" + registers + "\\d+, (\\d*)\\(");
  std::vector<int> offsets;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), store);
       it != std::sregex_iterator(); ++it)
    offsets.push_back((*it)[1].length() == 0 ? 0 : std::stoi((*it)[1]));
  return offsets;
}

std::string code_for(const char* processor, const char* features) {
  EmitOptions options;
  options.target = CodeTarget{"x86_64-unknown-linux-gnu", processor, features};
  return *module_from_kernel(vector_of_two_registers(), options).assembly();
}

TEST(StoreOrder, GoesUpThroughTheRegistersOfAVector) {
  EXPECT_EQ(offsets_of_stores(code_for("cascadelake", "+avx512f"), "zmm"), (std::vector{0, 64}));
  EXPECT_EQ(offsets_of_stores(code_for("haswell", "+avx2"), "ymm"), (std::vector{0, 32, 64, 96}));
}

} // namespace
} // namespace kawara::emit
