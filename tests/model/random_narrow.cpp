#include "random_graph.h"

#include <algorithm>

// Products and convolutions of bytes and of half floats, of sizes at which processors use
// instructions for them.

namespace kawara::random_graphs {
namespace {

using graph::Attributes;

constexpr double kSmall = 7; ///< bytes lie between this and its opposite, or from 0 on

DataType byte_type(Generator& g) { return g.chance(50) ? DataType::U8 : DataType::I8; }

double least_of(DataType type) { return type == DataType::U8 ? 0 : -kSmall; }

Made bytes(Generator& g, DataType type, const Shape& shape, bool is_given) {
  return is_given ? g.input_of_shape(shape, type, least_of(type), kSmall)
                  : g.constant(type, shape, least_of(type), kSmall);
}

/// Of the same type: often 0, or given at run time.
Made zero_point(Generator& g, DataType type) {
  const double value = g.chance(40) ? 0 : static_cast<double>(g.between(1, 3));
  return g.chance(30) ? g.input_of_shape({}, type, value, value)
                      : g.constant(type, {}, value, value);
}

/// Sums of products of shifted bytes.
Made sums(Shape shape, int64_t terms) {
  Made y;
  y.type = DataType::I32;
  y.shape = std::move(shape);
  const double most = kSmall + 3;
  y.high = static_cast<double>(terms) * most * most;
  y.low = -y.high;
  y.direction = 0;
  return y;
}

struct Image {
  Made image;
  Shape weights, results;
  int64_t terms = 0;
  Attributes attributes;
};

/// An image and the window of a convolution over it.
Image image_of(Generator& g, DataType type) {
  const int64_t groups = g.chance(20) ? 2 : 1, each = g.between(1, 12);
  const int64_t channels = groups * each, filters = groups * g.between(4, 24);
  const int64_t size = g.chance(40) ? 1 : g.between(2, 3), stride = g.between(1, 2);
  const int64_t dilation = size > 1 && g.chance(20) ? 2 : 1, pad = g.pick(size);
  const int64_t out_rows = g.between(1, 4), out_columns = g.between(1, 18);
  const int64_t reach = dilation * (size - 1) + 1;
  const auto extent = [&](int64_t out) {
    return std::max<int64_t>(1, stride * (out - 1) + reach - 2 * pad);
  };
  const int64_t rows = extent(out_rows), columns = extent(out_columns);
  const auto out = [&](int64_t in) { return (in + 2 * pad - reach) / stride + 1; };
  Image made;
  const Shape shape{1, channels, rows, columns};
  made.image =
      graph::is_float(type) ? g.input_of_shape(shape, type, -2, 2) : bytes(g, type, shape, true);
  made.weights = {filters, each, size, size};
  made.results = {1, filters, out(rows), out(columns)};
  made.terms = each * size * size;
  made.attributes = {{"kernel_shape", std::vector<int64_t>{size, size}},
                     {"strides", std::vector<int64_t>{stride, stride}},
                     {"dilations", std::vector<int64_t>{dilation, dilation}},
                     {"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                     {"group", groups}};
  return made;
}

/// A byte of each sum, by scales that are powers of two: results are exact.
Made narrowed(Made sum, DataType type) {
  sum.type = type;
  sum.low = type == DataType::U8 ? 0 : -128;
  sum.high = type == DataType::U8 ? 255 : 127;
  return sum;
}

ValueId scale(Generator& g, double value, const Shape& shape = {}) {
  return g.constant(DataType::F32, shape, value, value).id;
}

void add_byte_convolution(Generator& g) {
  const DataType type = byte_type(g), weight_type = byte_type(g);
  const Image made = image_of(g, type);
  const Made weights = bytes(g, weight_type, made.weights, g.chance(20));
  const Made sum = sums(made.results, made.terms);
  if (g.chance(50)) {
    std::vector<ValueId> inputs{made.image.id, weights.id};
    if (g.chance(70))
      inputs.push_back(zero_point(g, type).id);
    if (inputs.size() == 3 && g.chance(60))
      inputs.push_back(zero_point(g, weight_type).id);
    return g.add("ConvInteger", inputs, made.attributes, sum);
  }
  const int64_t filters = made.results[1];
  std::vector<ValueId> inputs{made.image.id,
                              scale(g, 0.5),
                              zero_point(g, type).id,
                              weights.id,
                              scale(g, 0.25, g.chance(50) ? Shape{filters} : Shape{}),
                              zero_point(g, weight_type).id,
                              scale(g, 2),
                              zero_point(g, type).id};
  if (g.chance(50))
    inputs.push_back(g.constant(DataType::I32, {filters}, -40, 40).id);
  g.add("QLinearConv", inputs, made.attributes, narrowed(sum, type));
}

void add_byte_product(Generator& g) {
  const DataType type = byte_type(g), other = byte_type(g);
  const int64_t rows = g.chance(30) ? 1 : g.between(2, 20), depth = g.between(1, 40),
                columns = g.between(1, 40);
  Shape left{rows, depth}, right{depth, columns}, result{rows, columns};
  if (g.chance(30)) {
    left.insert(left.begin(), 2);
    result.insert(result.begin(), 2);
    if (g.chance(50))
      right.insert(right.begin(), g.between(1, 2));
  }
  const Made a = bytes(g, type, left, true), b = bytes(g, other, right, g.chance(40));
  const Made sum = sums(result, depth);
  if (g.chance(50)) {
    std::vector<ValueId> inputs{a.id, b.id};
    if (g.chance(70))
      inputs.push_back(zero_point(g, type).id);
    if (inputs.size() == 3 && g.chance(60))
      inputs.push_back(zero_point(g, other).id);
    return g.add("MatMulInteger", inputs, {}, sum);
  }
  g.add("QLinearMatMul",
        {a.id, scale(g, 0.5), zero_point(g, type).id, b.id, scale(g, 0.25), zero_point(g, other).id,
         scale(g, 2), zero_point(g, type).id},
        {}, narrowed(sum, type));
}

/// Elements are few quarters: exact in half floats, and so are their sums in f32. What is rounded
/// to half floats at the end is the same in every order.
void add_half_convolution(Generator& g) {
  const DataType type = g.chance(50) ? DataType::F16 : DataType::BF16;
  const Image made = image_of(g, type);
  const Made weights = g.constant(type, made.weights, -2, 2);
  Made y = made.image;
  y.shape = made.results;
  y.high = 4.0 * static_cast<double>(made.terms);
  y.low = -y.high;
  g.add("Conv", {made.image.id, weights.id}, made.attributes, y);
}

} // namespace

std::vector<Family> narrow_families() {
  return {add_byte_convolution, add_byte_convolution, add_byte_product, add_half_convolution};
}

} // namespace kawara::random_graphs
