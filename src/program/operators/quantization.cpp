#include "program/operators/registry.h"

namespace kawara::program::operators {
namespace {
namespace of_quantization {

struct Range {
  int64_t low, high;
};

Range range_of(DataType type) {
  switch (type) {
  case DataType::I8:
    return {-128, 127};
  case DataType::I16:
    return {-32768, 32767};
  case DataType::U16:
    return {0, 65535};
  default:
    return {0, 255};
  }
}

/// Scale and zero point: one for the tensor, or one per place along an axis. Declares the operands as
/// X0[a, c, r] with those at c; false when they do not fit.
bool declare_scales(Definition& d, std::string& index) {
  if (!d.need(0) || !d.need(1))
    return false;
  const int64_t scales = product(d.shape(1));
  Shape s{1, 1, product(d.shape(0))};
  if (scales != 1 || d.rank(1) == 1) {
    const int64_t axis = d.rank(0) == 0 ? 0 : d.axis_of(d.integer("axis", 1), d.rank(0));
    const auto cut = static_cast<size_t>(axis);
    if (scales != 1 && (d.rank(0) == 0 || d.shape(0)[cut] != scales))
      d.refuse(fmt::format("{} scales do not fit dimension {} of {}", scales, axis,
                           graph::text_of(d.shape(0))));
    if (scales != 1 && !d.is_settled())
      s = {product(d.shape(0), 0, cut), scales, product(d.shape(0), cut + 1, d.shape(0).size())};
  }
  if (d.has(2) && product(d.shape(2)) != scales)
    d.refuse("scales and zero points differ in number");
  index = scales == 1 ? "" : "c";
  d.declare_operand(0, s);
  d.declare_output(0, s);
  for (const size_t k : {size_t{1}, size_t{2}})
    d.declare_operand(k, scales == 1 ? Shape{} : Shape{scales});
  return !d.is_settled();
}

void quantize_linear(Definition& d) {
  std::string index;
  if (!declare_scales(d, index))
    return;
  const DataType type = d.has(2) ? d.type(2) : DataType::U8;
  const auto [low, high] = range_of(type);
  d.output(type, d.shape(0));
  const std::string zero = d.has(2) ? " + f32(" + d.cell(2, index) + ")" : "";
  d.line("Y0[a, c, r] = {}",
         Definition::stored(type, fmt::format("max({}, min({}, round(f32(X0[a, c, r]) / {}){}))",
                                              low, high, at("X1", index), zero)));
}

void dequantize_linear(Definition& d) {
  std::string index;
  if (!declare_scales(d, index))
    return;
  d.output(d.type(1), d.shape(0));
  const std::string zero = d.has(2) ? " - f32(" + d.cell(2, index) + ")" : "";
  d.line("Y0[a, c, r] = (f32({}){}) * {}", d.cell(0, "a, c, r"), zero, at("X1", index));
}

/// To u8, with a scale that covers all values and zero.
void dynamic_quantize_linear(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t cells = product(d.shape(0));
  d.output(DataType::U8, d.shape(0));
  d.output(DataType::F32, {});
  d.output(DataType::U8, {});
  d.declare_operand(0, {cells});
  d.declare_output(0, {cells});
  for (const char* name : {"L", "U", "Z"})
    d.temp(name, "f32", {});
  d.line("L = min(i in range({}), X0[i])", cells);
  d.line("U = max(i in range({}), X0[i])", cells);
  d.line("Y1 = (max(U, 0) - min(L, 0)) / 255.0");
  d.line("Z = max(0, min(255, round((0 - min(L, 0)) / Y1)))");
  d.line("Y2 = u8(Z)");
  d.line("Y0[i] = u8(max(0, min(255, round(X0[i] / Y1) + Z)))");
}

constexpr Operator kAll[] = {{"DequantizeLinear", dequantize_linear},
                             {"DynamicQuantizeLinear", dynamic_quantize_linear},
                             {"QuantizeLinear", quantize_linear}};

} // namespace of_quantization
} // namespace

std::span<const Operator> quantization_operators() { return of_quantization::kAll; }

} // namespace kawara::program::operators
