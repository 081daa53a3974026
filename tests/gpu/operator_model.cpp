#include "operator_model.h"

#include <fmt/format.h>

#include <cstring>

namespace kawara::operator_models {

int64_t Maker::channels() {
  static const std::vector<int64_t> few = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16};
  static const std::vector<int64_t> many = {17,  20,  21,  24,  26,  30,  31,  32,  33, 36, 40,
                                            48,  55,  63,  64,  65,  66,  70,  72,  80, 96, 97,
                                            100, 104, 112, 120, 127, 128, 130, 144, 160};
  return one_of(chance(40) ? few : many);
}

Tensor Maker::elements(DataType type, const Shape& shape) {
  Tensor tensor(type, shape);
  const bool has_sign = type != DataType::U8 && type != DataType::U16 && type != DataType::Bool;
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    const auto size = static_cast<double>(1 + pick(4));
    const double signed_size = has_sign && chance(50) ? -size : size;
    tensor.set_double(k, graph::is_float(type)    ? signed_size / 4
                         : type == DataType::Bool ? static_cast<double>(pick(2))
                                                  : signed_size);
  }
  return tensor;
}

Tensor Maker::whole_elements(DataType type, const Shape& shape, bool has_zeros) {
  Tensor tensor(type, shape);
  const int64_t bytes = graph::bytes_of(type);
  const uint64_t top = uint64_t{1} << (8 * bytes - 1);
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    const std::vector<uint64_t> ends = {top, top - 1, top + 1, ~uint64_t{0}, 1, 2, 0};
    uint64_t bits = chance(50) ? one_of(ends) : random_() >> pick(8 * bytes);
    const bool is_zero = (bits << (64 - 8 * bytes)) == 0;
    bits = is_zero && !has_zeros ? 3 : bits;
    std::memcpy(tensor.data() + k * bytes, &bits, static_cast<size_t>(bytes));
  }
  return tensor;
}

Made Maker::given(const Shape& shape, DataType type, Tensor elements) {
  const std::string name = fmt::format("x{}", names_++);
  const ValueId id = builder_.input(name, type, graph::dims_of(shape));
  made_.inputs[name] = {std::move(elements), false, {}};
  made_.text += fmt::format("{}{} ", graph::name_of(type), graph::text_of(shape));
  return {id, shape, type};
}

Made Maker::input(const Shape& shape, DataType type) {
  return given(shape, type, elements(type, shape));
}

Made Maker::whole_input(const Shape& shape, DataType type, bool has_zeros) {
  return given(shape, type, whole_elements(type, shape, has_zeros));
}

Made Maker::constant(const Shape& shape, DataType type) {
  return {builder_.constant(fmt::format("w{}", names_++), elements(type, shape)), shape, type};
}

Made Maker::filled(const Shape& shape, double value, DataType type) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, value);
  return {builder_.constant(fmt::format("w{}", names_++), std::move(tensor)), shape, type};
}

ValueId Maker::integers(const std::vector<int64_t>& values) {
  return builder_.integers(fmt::format("i{}", names_++), values);
}

Made Maker::add(const std::string& op, const std::vector<ValueId>& inputs, Attributes attributes,
                const Shape& result, DataType type) {
  made_.text += fmt::format("-> {}", op);
  for (const auto& [name, value] : attributes)
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
      made_.text += fmt::format(" {}{}", name, graph::text_of(*list));
    else if (const auto* number = std::get_if<int64_t>(&value))
      made_.text += fmt::format(" {}={}", name, *number);
  made_.text += fmt::format(" {} ", graph::text_of(result));
  const ValueId id =
      builder_.add(op, fmt::format("{}_{}", op, names_++), inputs, std::move(attributes));
  return {id, result, type};
}

Made Maker::activated(const Made& x, size_t channel_axis) {
  const auto plain = [&](const char* op, Attributes attributes = {}) {
    return add(op, {x.id}, std::move(attributes), x.shape);
  };
  switch (pick(12)) {
  case 0:
    return plain("Relu");
  case 1:
    return plain("HardSigmoid", {{"alpha", 0.2}, {"beta", 0.5}});
  case 2:
    return add("Clip", {x.id, filled({}, 0).id, filled({}, 6).id}, {}, x.shape);
  case 3:
    return plain("LeakyRelu", {{"alpha", 0.125}});
  case 4:
    return plain("Sigmoid");
  case 5:
    return plain("Tanh");
  case 6: { // Gelu, written out as exporters do
    const Made e =
        add("Erf", {add("Mul", {x.id, filled({}, 0.70710678).id}, {}, x.shape).id}, {}, x.shape);
    const Made one = add("Add", {e.id, filled({}, 1).id}, {}, x.shape);
    const Made half = add("Mul", {x.id, one.id}, {}, x.shape);
    return add("Mul", {half.id, filled({}, 0.5).id}, {}, x.shape);
  }
  case 7:
    return plain("HardSwish");
  case 8:
    return add("Mul", {x.id, plain("Sigmoid").id}, {}, x.shape);
  case 9: {
    Shape slope(x.shape.size() - channel_axis, 1);
    slope[0] = x.shape[channel_axis];
    return add("PRelu", {x.id, constant(slope).id}, {}, x.shape);
  }
  case 10:
    return plain("Elu", {{"alpha", 1.0}});
  default:
    return plain("Softplus");
  }
}

Made Maker::followed(Made x, size_t channel_axis) {
  for (int64_t more = pick(3); more >= 0; --more) {
    if (chance(25))
      continue;
    if (chance(20)) {
      x = add("Add", {x.id, input(x.shape).id}, {}, x.shape);
    } else if (chance(15)) {
      Shape scale(x.shape.size(), 1);
      scale[channel_axis] = x.shape[channel_axis];
      if (channel_axis > 0 && chance(50))
        scale[0] = x.shape[0];
      x = add(chance(50) ? "Mul" : "Add", {x.id, chance(50) ? constant(scale).id : input(scale).id},
              {}, x.shape);
    } else
      x = activated(x, channel_axis);
  }
  return x;
}

void Maker::output(const Made& result) {
  builder_.output(result.id, result.type, graph::dims_of(result.shape));
}

OperatorModel Maker::take() {
  made_.graph = builder_.take();
  return std::move(made_);
}

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto& some : {convolution_families(), product_families(), row_families(),
                           map_families(), quantised_families(), integer_families()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

} // namespace kawara::operator_models
