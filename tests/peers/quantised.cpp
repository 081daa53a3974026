#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

DataType byte_type(Maker& m) { return m.chance(50) ? DataType::U8 : DataType::I8; }

Val zero_point(Maker& m, DataType type, const Shape& shape = {}) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_int(k, m.chance(30)           ? 0
                      : type == DataType::U8 ? m.between(0, 255)
                                             : m.between(-128, 127));
  return m.chance(30) ? m.given(tensor) : m.constant(tensor);
}

/// Powers of two, so that quotients are exact; sometimes any positive number.
Val scale(Maker& m, DataType type = DataType::F32, const Shape& shape = {}) {
  Tensor tensor(type, shape);
  static const std::vector<double> kPowers = {0.25, 0.5, 1, 2};
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, m.chance(85) ? m.one_of(kPowers) : 0.1 * m.real(0.125, 20));
  return m.chance(25) ? m.given(tensor) : m.constant(tensor);
}

void add_quantize(Maker& m) {
  static const std::vector<DataType> kNarrow = {DataType::U8, DataType::I8,  DataType::U8,
                                                DataType::I8, DataType::U16, DataType::I16};
  const DataType type = m.one_of(kNarrow);
  Val a = m.operand([](const Val& v) { return graph::is_float(v.type()) && v.is_exact; },
                    m.chance(80) ? DataType::F32 : m.float_type(), m.shape(0, 4));
  Attributes attributes;
  Shape shape;
  if (m.opset() >= 13 && a.rank() > 0 && m.chance(50)) {
    const int64_t axis = m.axis_of(a);
    attributes["axis"] = axis;
    shape = {a.extent(axis < 0 ? axis + a.rank() : axis)};
  }
  std::vector<Val> all{a, scale(m, a.type(), shape)};
  if (m.chance(80))
    all.push_back(zero_point(m, type, shape));
  m.add("QuantizeLinear", all, attributes);
}

void add_dequantize(Maker& m) {
  static const std::vector<DataType> kNarrow = {DataType::U8, DataType::I8,  DataType::U8,
                                                DataType::I8, DataType::I32, DataType::U16,
                                                DataType::I16};
  const DataType type = m.one_of(kNarrow);
  const Val a = m.operand([&](const Val& v) { return v.type() == type; }, type, m.shape(0, 4));
  Attributes attributes;
  Shape shape;
  if (m.opset() >= 13 && a.rank() > 0 && m.chance(50)) {
    const int64_t axis = m.axis_of(a);
    attributes["axis"] = axis;
    shape = {a.extent(axis < 0 ? axis + a.rank() : axis)};
  }
  std::vector<Val> all{a, scale(m, m.opset() >= 19 ? m.float_type() : DataType::F32, shape)};
  if (m.chance(70) && type != DataType::I32)
    all.push_back(zero_point(m, type, shape));
  m.add("DequantizeLinear", all, attributes);
}

void add_dynamic(Maker& m) {
  Val a = m.operand([](const Val& v) { return v.type() == DataType::F32 && v.is_exact; },
                    DataType::F32, m.shape(0, 3));
  m.add("DynamicQuantizeLinear", {a}, {}, 3);
}

Val bytes(Maker& m, DataType type, const Shape& shape) { return m.of(type, shape); }

void add_byte_product(Maker& m) {
  const DataType left = byte_type(m), right = byte_type(m);
  const int64_t rows = m.between(1, 9), depth = m.between(1, 20), columns = m.between(1, 17);
  Shape a{rows, depth}, b{depth, columns};
  if (m.chance(30))
    a.insert(a.begin(), m.between(1, 3));
  const Val x = bytes(m, left, a), y = bytes(m, right, b);
  if (m.chance(50)) {
    std::vector<Val> all{x, y};
    if (m.chance(70))
      all.push_back(zero_point(m, left));
    if (all.size() == 3 && m.chance(70))
      all.push_back(zero_point(m, right, m.chance(30) ? Shape{columns} : Shape{}));
    m.add("MatMulInteger", all);
    return;
  }
  const bool is_by_columns = m.chance(30);
  const Shape each = is_by_columns ? Shape{columns} : Shape{};
  m.add("QLinearMatMul", {x, scale(m), zero_point(m, left), y, scale(m, DataType::F32, each),
                          zero_point(m, right, each), scale(m), zero_point(m, left)});
}

void add_byte_convolution(Maker& m) {
  const DataType left = byte_type(m), right = m.chance(60) ? left : byte_type(m);
  const int64_t group = m.chance(25) ? 2 : 1, each = m.between(1, 6),
                filters = group * m.between(1, 6);
  Shape image{m.between(1, 2), group * each}, window{filters, each};
  Ints pads, strides;
  for (int64_t k = 0; k < 2; ++k) {
    const int64_t size = m.between(1, 3);
    window.push_back(size);
    image.push_back(std::max(size, m.between(1, 7)));
    strides.push_back(m.between(1, 2));
  }
  for (int64_t k = 0; k < 4; ++k)
    pads.push_back(m.pick(window[static_cast<size_t>(2 + k % 2)]));
  Attributes attributes{{"group", group}};
  if (m.chance(60))
    attributes["pads"] = pads;
  if (m.chance(60))
    attributes["strides"] = strides;
  const Val x = bytes(m, left, image), w = m.fresh(right, window);
  if (m.chance(40)) {
    std::vector<Val> all{x, w};
    if (m.chance(70))
      all.push_back(zero_point(m, left));
    if (all.size() == 3 && m.chance(60))
      all.push_back(zero_point(m, right));
    m.add("ConvInteger", all, attributes);
    return;
  }
  std::vector<Val> all{x,
                       scale(m),
                       zero_point(m, left),
                       w,
                       scale(m, DataType::F32, m.chance(50) ? Shape{filters} : Shape{}),
                       zero_point(m, right),
                       scale(m),
                       zero_point(m, left)};
  if (m.chance(50)) {
    Tensor bias(DataType::I32, {filters});
    for (int64_t k = 0; k < filters; ++k)
      bias.set_int(k, m.between(-300, 300));
    all.push_back(m.constant(bias));
  }
  m.add("QLinearConv", all, attributes);
}

} // namespace

std::vector<Family> quantised_families() {
  return {{"quantize", add_quantize, 2},
          {"dequantize", add_dequantize, 1},
          {"dynamic", add_dynamic, 1},
          {"byte_product", add_byte_product, 2},
          {"byte_convolution", add_byte_convolution, 2}};
}

} // namespace kawara::peers
