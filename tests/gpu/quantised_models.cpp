#include "operator_model.h"

namespace kawara::operator_models {
namespace {

DataType byte(Maker& m) { return m.chance(50) ? DataType::U8 : DataType::I8; }

ValueId scale(Maker& m, double value, const Shape& shape = {}) { return m.filled(shape, value).id; }

ValueId zero_point(Maker& m, DataType type, const Shape& shape = {}) {
  return m.filled(shape, static_cast<double>(m.between(0, 3)), type).id;
}

void quantise(Maker& m) {
  const Shape shape{m.between(1, 4), m.channels(), m.between(1, 9)};
  const DataType type =
      m.one_of(std::vector<DataType>{DataType::U8, DataType::I8, DataType::U16, DataType::I16});
  const bool is_by_channel = m.chance(50);
  const Shape scales = is_by_channel ? Shape{shape[1]} : Shape{};
  const Made x = m.input(shape);
  // Some results lie beyond the type's ends.
  const double step = m.one_of(std::vector<double>{0x1p-2, 0x1p-6, 0x1p-9, 0x1p-14, 0x1p-17});
  const ValueId by = scale(m, step, scales), zero = zero_point(m, type, scales);
  const Made y = m.add("QuantizeLinear", {x.id, by, zero}, {{"axis", int64_t{1}}}, shape, type);
  if (m.chance(50))
    return m.output(y);
  m.output(m.add("DequantizeLinear", {y.id, by, zero}, {{"axis", int64_t{1}}}, shape));
}

void matmul_integer(Maker& m) {
  const DataType a_type = byte(m), b_type = byte(m);
  int64_t rows = m.channels(), columns = m.channels(), depth = m.channels();
  while (!m.is_small(static_cast<double>(rows * columns * depth))) {
    rows = m.channels();
    columns = m.channels();
    depth = m.channels();
  }
  const Made a = m.input({rows, depth}, a_type), b = m.chance(60)
                                                         ? m.constant({depth, columns}, b_type)
                                                         : m.input({depth, columns}, b_type);
  if (m.chance(50)) {
    std::vector<ValueId> inputs{a.id, b.id};
    if (m.chance(60))
      inputs.push_back(zero_point(m, a_type));
    if (inputs.size() == 3 && m.chance(60))
      inputs.push_back(zero_point(m, b_type));
    return m.output(m.add("MatMulInteger", inputs, {}, {rows, columns}, DataType::I32));
  }
  m.output(m.add("QLinearMatMul",
                 {a.id, scale(m, 0.5), zero_point(m, a_type), b.id, scale(m, 0.25),
                  zero_point(m, b_type), scale(m, 2), zero_point(m, a_type)},
                 {}, {rows, columns}, a_type));
}

void conv_integer(Maker& m) {
  const DataType type = byte(m), weight_type = byte(m);
  int64_t channels = 1, filters = 1, side = 1, window = 1;
  const int64_t batch = m.between(1, 3);
  do {
    channels = m.channels();
    filters = m.channels();
    side = m.between(1, 12);
    window = m.chance(50) ? 1 : 3;
  } while (!m.is_small(static_cast<double>(batch * channels * filters * side * side) *
                       static_cast<double>(window * window)));
  const Made image = m.input({batch, channels, side, side}, type);
  const Made weights = m.constant({filters, channels, window, window}, weight_type);
  const int64_t reach = window / 2;
  const Attributes attributes{{"pads", std::vector<int64_t>{reach, reach, reach, reach}},
                              {"kernel_shape", std::vector<int64_t>{window, window}}};
  const Shape result{batch, filters, side, side};
  if (m.chance(40)) {
    std::vector<ValueId> inputs{image.id, weights.id};
    if (m.chance(60))
      inputs.push_back(zero_point(m, type));
    return m.output(m.add("ConvInteger", inputs, attributes, result, DataType::I32));
  }
  std::vector<ValueId> inputs{image.id,
                              scale(m, 0.5),
                              zero_point(m, type),
                              weights.id,
                              scale(m, 0.25, m.chance(50) ? Shape{filters} : Shape{}),
                              zero_point(m, weight_type),
                              scale(m, 2),
                              zero_point(m, type)};
  if (m.chance(50))
    inputs.push_back(m.constant({filters}, DataType::I32).id);
  m.output(m.add("QLinearConv", inputs, attributes, result, type));
}

} // namespace

std::vector<Family> quantised_families() {
  return {
      {"quantise", quantise}, {"matmul_integer", matmul_integer}, {"conv_integer", conv_integer}};
}

} // namespace kawara::operator_models
