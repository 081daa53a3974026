#include "target/warpgroup_products.h"

#include <array>
#include <string>

namespace kawara::target {
namespace {

/// What an instruction multiplies and adds up: names in the instruction and in program texts.
struct ProductType {
  std::string_view name, operand, sum;
  int depth;      ///< 32 bytes of a row
  int width_step; ///< widths are multiples of it
  Strictness strictness;
};
constexpr std::array<ProductType, 6> kProductTypes = {
    {{"bf16", "bf16", "f32", 16, 16, Strictness::Rounding},
     {"f16", "f16", "f32", 16, 16, Strictness::Rounding},
     {"tf32", "f32", "f32", 8, 32, Strictness::Fast},
     {"e4m3", "f8e4m3", "f32", 32, 32, Strictness::Fast},
     {"e5m2", "f8e5m2", "f32", 32, 32, Strictness::Fast},
     {"s8", "i8", "i32", 32, 32, Strictness::Exact}}};
constexpr int kRows = 64, kLeastWidth = 32, kMostWidth = 256;

struct ProductText {
  std::string name, program;
  Strictness strictness;
};

std::string program_text(const ProductType& type, int width) {
  const std::string rows = std::to_string(kRows), columns = std::to_string(width),
                    depth = std::to_string(type.depth), elem(type.operand), sum(type.sum);
  return "input a: " + elem + "[" + rows + ", " + depth + "], b: " + elem + "[" + depth + ", " +
         columns + "]\ninout c: " + sum + "[" + rows + ", " + columns +
         "]\n"
         "for i in range(" +
         rows + "):\n    for j in range(" + columns + "):\n        for k in range(" + depth +
         "):\n            c[i, j] += a[i, k] * b[k, j]\n";
}

std::vector<ProductText> product_texts() {
  std::vector<ProductText> texts;
  for (const ProductType& type : kProductTypes)
    for (int width = kLeastWidth; width <= kMostWidth; width += type.width_step)
      texts.push_back({"wgmma.m64n" + std::to_string(width) + "k" + std::to_string(type.depth) +
                           "." + std::string(type.name),
                       program_text(type, width), type.strictness});
  return texts;
}

} // namespace

std::vector<Intrinsic> warpgroup_products() {
  static const std::vector<ProductText> texts = product_texts();
  std::vector<Intrinsic> all;
  for (const ProductText& text : texts) {
    Intrinsic one;
    one.name = text.name;
    one.program = text.program;
    one.strictness = text.strictness;
    one.mnemonic = "wgmma";
    one.is_collective = true;
    all.push_back(one);
  }
  return all;
}

} // namespace kawara::target
