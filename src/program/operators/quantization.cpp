#include "program/operators/registry.h"

namespace kawara::program::operators {
namespace {
namespace of_quantization {

bool is_quantised(DataType type) {
  return type == DataType::I8 || type == DataType::U8 || type == DataType::I16 ||
         type == DataType::U16;
}

/// Which scale and zero point an element X0[a, c, r] has: one for the tensor, one per place c along
/// an axis, or one per block of `block` such places in a row. Declares the operands; the index of
/// the scale, nothing when they do not fit.
std::optional<std::string> declare_scales(Definition& d) {
  if (!d.need(0) || !d.need(1))
    return std::nullopt;
  const Shape &x = d.shape(0), &scale = d.shape(1);
  const int64_t block = d.integer("block_size", 0), given = d.integer("axis", 1);
  const bool is_one = product(scale) == 1 && block == 0;
  Shape elements{1, 1, product(x)}, scales;
  std::string index;
  if (!is_one) {
    const auto axis = static_cast<size_t>(d.axis_of(given, d.rank(0)));
    if (d.is_settled())
      return std::nullopt;
    elements = {product(x, 0, axis), x[axis], product(x, axis + 1, x.size())};
    Shape blocks = x;
    if (block > 0)
      blocks[axis] = (x[axis] + block - 1) / block;
    const bool fits = block > 0 ? scale == blocks : block == 0 ? scale == Shape{x[axis]} : false;
    if (!fits)
      d.refuse(fmt::format("scales {}{} do not fit dimension {} of {}", graph::text_of(scale),
                           block != 0 ? fmt::format(" in blocks of {}", block) : "", axis,
                           graph::text_of(x)));
    scales = block > 0 ? Shape{elements[0], blocks[axis], elements[2]} : Shape{x[axis]};
    index = block > 0 ? fmt::format("a, c // {}, r", block) : "c";
  }
  if (d.has(2) && product(d.shape(2)) != product(scale))
    d.refuse("scales and zero points differ in number");
  d.declare_operand(0, elements);
  d.declare_output(0, elements);
  for (const size_t k : {size_t{1}, size_t{2}})
    d.declare_operand(k, scales);
  return d.is_settled() ? std::nullopt : std::optional(index);
}

/// The type that elements are quantised to: that of the zero point or by an attribute, which must
/// agree.
std::optional<DataType> quantised_type(Definition& d) {
  const DataType otherwise = d.has(2) ? d.type(2) : DataType::U8;
  const bool is_named = d.integer("output_dtype", 0) != 0;
  const auto type = is_named ? d.data_type("output_dtype", otherwise) : otherwise;
  if (type && d.has(2) && *type != d.type(2))
    d.refuse(fmt::format("output_dtype is {}, and the zero point is {}", graph::name_of(*type),
                         graph::name_of(d.type(2))));
  if (type && !is_quantised(*type))
    d.refuse("known results are u8, i8, u16 and i16, not " + std::string(graph::name_of(*type)));
  return d.is_settled() ? std::nullopt : type;
}

/// Quotients are rounded to the type of the scale, or to the one that an attribute names.
std::optional<DataType> quotient_type(Definition& d) {
  const bool is_named = d.integer("precision", 0) != 0;
  const auto type = is_named ? d.data_type("precision", d.type(1)) : d.type(1);
  if (type && !graph::is_float(*type))
    d.refuse("quotients are floats, not " + std::string(graph::name_of(*type)));
  return d.is_settled() ? std::nullopt : type;
}

void quantize_linear(Definition& d) {
  const auto index = declare_scales(d);
  const auto type = quantised_type(d), precision = quotient_type(d);
  if (!index || !type || !precision)
    return;
  d.output(*type, d.shape(0));
  const std::string wide = *precision == DataType::F64 ? "f64" : "f32";
  const auto number = [&](const std::string& element) { return wide + "(" + element + ")"; };
  std::string quotient =
      fmt::format("{} / {}", number(d.element(0, "a, c, r")), number(at("X1", *index)));
  if (*precision == DataType::F16 || *precision == DataType::BF16)
    quotient = fmt::format("{}({}({}))", wide, graph::name_of(*precision), quotient);
  const std::string zero = d.has(2) ? " + " + number(d.element(2, *index)) : "";
  d.line("Y0[a, c, r] = {}",
         Definition::saturated(*type, fmt::format("round({}){}", quotient, zero)));
}

void dequantize_linear(Definition& d) {
  const auto index = declare_scales(d);
  const bool is_named = d.integer("output_dtype", 0) != 0;
  const auto type = is_named ? d.data_type("output_dtype", d.type(1)) : d.type(1);
  if (!index || d.is_settled())
    return;
  if (!graph::is_float(*type))
    return d.refuse("results are floats, not " + std::string(graph::name_of(*type)));
  d.output(*type, d.shape(0));
  const std::string wide = *type == DataType::F64 ? "f64" : "f32";
  const std::string zero = d.has(2) ? fmt::format(" - {}({})", wide, d.element(2, *index)) : "";
  d.line("Y0[a, c, r] = ({}({}){}) * {}", wide, d.element(0, "a, c, r"), zero, at("X1", *index));
}

/// To u8, with a scale that covers all values and zero.
void dynamic_quantize_linear(Definition& d) {
  if (!d.need(0))
    return;
  const int64_t elements = product(d.shape(0));
  d.output(DataType::U8, d.shape(0));
  d.output(DataType::F32, {});
  d.output(DataType::U8, {});
  d.declare_operand(0, {elements});
  d.declare_output(0, {elements});
  for (const char* name : {"L", "U", "Z"})
    d.temp(name, "f32", {});
  // From 0 on, which the scale covers: one loop brings each element from memory once.
  d.add_line("L = 0\n");
  d.add_line("U = 0\n");
  d.add_line(fmt::format("for i in range({}):\n  L min= X0[i]\n  U max= X0[i]\n", elements));
  // Of zeros alone any scale would do.
  d.line("Y1 = select(U == L, 1, (U - L) / 255.0)");
  d.line("Z = max(0, min(255, round((0 - L) / Y1)))");
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
