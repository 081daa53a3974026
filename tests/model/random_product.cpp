#include "random_graph.h"

#include <algorithm>

namespace kawara::random_graphs {
namespace {

using graph::Attributes;

/// A sum of `terms` products.
Made product(const Made& a, const Made& b, Shape shape, int64_t terms) {
  const auto n = static_cast<double>(terms);
  Made y = a;
  y.shape = std::move(shape);
  y.high = n * a.most() * b.most();
  y.low = -y.high;
  y.error = n * (a.most() * b.error + b.most() * a.error) + rounding(a, y.high, n);
  return y;
}

void add_matmul(Generator& g) {
  const Made* x = g.choose_float(2, 4);
  if (!x)
    return;
  const Made a = *x;
  const int64_t depth = a.shape.back(), width = g.between(1, 8);
  Shape shape{depth, width};
  if (a.rank() == 3 && g.chance(40))
    shape.insert(shape.begin(), g.chance(50) ? a.shape[0] : 1);
  if (g.chance(10))
    shape = {depth};
  const Made b = g.float_of_shape(shape);
  Shape out = a.shape;
  if (shape.size() == 1)
    out.pop_back();
  else
    out.back() = width;
  g.add("MatMul", {a.id, b.id}, {}, product(a, b, out, depth));
}

void add_gemm(Generator& g) {
  const Made* x = g.choose_float(2, 2);
  if (!x)
    return;
  const Made a = *x;
  const bool is_a_transposed = g.chance(30), is_b_transposed = g.chance(50);
  const int64_t rows = a.shape[is_a_transposed ? 1 : 0], depth = a.shape[is_a_transposed ? 0 : 1];
  const int64_t width = g.between(1, 8);
  const Made b = g.float_of_shape(is_b_transposed ? Shape{width, depth} : Shape{depth, width});
  Attributes attributes{{"transA", int64_t{is_a_transposed}}, {"transB", int64_t{is_b_transposed}}};
  if (g.chance(30))
    attributes["alpha"] = 0.5;
  Made y = product(a, b, {rows, width}, depth);
  std::vector<ValueId> inputs{a.id, b.id};
  if (g.chance(60)) {
    const Made c = g.float_of_shape(g.chance(50) ? Shape{width} : Shape{rows, 1});
    inputs.push_back(c.id);
    y.low -= c.most();
    y.high += c.most();
    y.error += c.error + rounding(a, y.high);
  }
  g.add("Gemm", inputs, attributes, y);
}

void add_einsum(Generator& g) {
  const Made* x = g.choose_float(2, 2);
  if (!x)
    return;
  const Made a = *x;
  const int64_t width = g.between(1, 8);
  const Made b = g.float_of_shape({width, a.shape[1]});
  g.add("Einsum", {a.id, b.id}, {{"equation", std::string("ik,jk->ij")}},
        product(a, b, {a.shape[0], width}, a.shape[1]));
}

struct WindowChoice {
  std::vector<int64_t> size, stride, pads, dilation;
  Shape out; ///< spatial extents
};

/// A window that fits into the two last dimensions.
WindowChoice window(Generator& g, const Made& a, bool has_dilation) {
  WindowChoice w{{}, {}, {0, 0, 0, 0}, {}, {}};
  for (size_t k = 0; k < 2; ++k) {
    const int64_t extent = a.shape[2 + k];
    const int64_t size = g.between(1, std::min<int64_t>(3, extent));
    const int64_t most = extent > 2 * (size - 1) ? 2 : 1;
    const int64_t dilation = has_dilation && g.chance(25) ? most : 1;
    const int64_t stride = g.between(1, 2), before = g.pick(size), after = g.pick(size);
    w.size.push_back(size);
    w.stride.push_back(stride);
    w.dilation.push_back(dilation);
    w.pads[k] = before;
    w.pads[k + 2] = after;
    w.out.push_back((extent + before + after - dilation * (size - 1) - 1) / stride + 1);
  }
  return w;
}

Attributes attributes_of(const WindowChoice& w, bool has_dilation) {
  Attributes attributes{{"kernel_shape", w.size}, {"strides", w.stride}, {"pads", w.pads}};
  if (has_dilation)
    attributes["dilations"] = w.dilation;
  return attributes;
}

void add_convolution(Generator& g) {
  const Made* x = g.choose_float(4, 4);
  if (!x)
    return;
  const Made a = *x;
  const WindowChoice w = window(g, a, true);
  const int64_t channels = a.shape[1];
  const int64_t groups = g.chance(30) ? channels : channels % 2 == 0 && g.chance(30) ? 2 : 1;
  const int64_t each = g.between(1, 3), out = each * groups;
  const Made f = g.constant(DataType::F32, {out, channels / groups, w.size[0], w.size[1]}, -1, 1);
  Made y = product(a, f, {a.shape[0], out, w.out[0], w.out[1]},
                   channels / groups * w.size[0] * w.size[1]);
  std::vector<ValueId> inputs{a.id, f.id};
  if (g.chance(50)) {
    inputs.push_back(g.constant(DataType::F32, {out}, -1, 1).id);
    y.low -= 1;
    y.high += 1;
    y.error += rounding(a, y.high);
  }
  Attributes attributes = attributes_of(w, true);
  attributes["group"] = groups;
  g.add("Conv", inputs, attributes, y);
}

void add_transposed_convolution(Generator& g) {
  const Made* x = g.choose_float(4, 4);
  if (!x)
    return;
  const Made a = *x;
  const int64_t out = g.between(1, 3), size = g.between(1, 3), stride = g.between(1, 2);
  const Made f = g.constant(DataType::F32, {a.shape[1], out, size, size}, -1, 1);
  const auto extent = [&](int64_t e) { return (e - 1) * stride + size; };
  const Made y = product(a, f, {a.shape[0], out, extent(a.shape[2]), extent(a.shape[3])},
                         a.shape[1] * size * size);
  g.add("ConvTranspose", {a.id, f.id}, {{"strides", std::vector<int64_t>{stride, stride}}}, y);
}

void add_pool(Generator& g) {
  const Made* x = g.choose_float(4, 4);
  if (!x)
    return;
  const Made a = *x;
  const WindowChoice w = window(g, a, false);
  Made y = a;
  y.shape = {a.shape[0], a.shape[1], w.out[0], w.out[1]};
  if (g.chance(50)) {
    g.add("MaxPool", {a.id}, attributes_of(w, false), y);
    return;
  }
  y.low = std::min(a.low, 0.0);
  y.high = std::max(a.high, 0.0);
  y.error = a.error + rounding(a, a.most(), 10);
  Attributes attributes = attributes_of(w, false);
  attributes["count_include_pad"] = g.pick(2);
  g.add("AveragePool", {a.id}, attributes, y);
}

void add_global_pool(Generator& g) {
  const Made* x = g.choose_float(3, 4);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  std::fill(y.shape.begin() + 2, y.shape.end(), 1);
  if (g.chance(50))
    return g.add("GlobalMaxPool", {a.id}, {}, y);
  y.error = a.error + rounding(a, a.most(), 64);
  g.add("GlobalAveragePool", {a.id}, {}, y);
}

void add_resize(Generator& g) {
  const Made* x = g.choose_float(4, 4);
  if (!x)
    return;
  const Made a = *x;
  Made y = a;
  y.shape[2] *= 2;
  y.shape[3] *= 2;
  g.add("Resize", {a.id, graph::kAbsent, graph::kAbsent, g.integers(y.shape)},
        {{"mode", std::string("nearest")},
         {"coordinate_transformation_mode", std::string("asymmetric")},
         {"nearest_mode", std::string("floor")}},
        y);
}

} // namespace

std::vector<Family> product_families() {
  return {add_matmul,
          add_matmul,
          add_gemm,
          add_einsum,
          add_convolution,
          add_convolution,
          add_pool,
          add_pool,
          add_global_pool,
          add_resize,
          add_transposed_convolution};
}

} // namespace kawara::random_graphs
