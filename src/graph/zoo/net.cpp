#include "graph/zoo/net.h"

#include <cmath>

namespace kawara::graph::zoo {
namespace {

/// Bits that look random and depend on the number alone.
uint64_t scrambled(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::vector<Dim> dims_with_symbol(const Shape& shape, size_t at, const std::string& symbol) {
  std::vector<Dim> dims = dims_of(shape);
  dims[at] = {std::nullopt, symbol};
  return dims;
}

int64_t pooled(int64_t extent, const Net::Window& window) {
  return (extent + 2 * window.pad - window.size) / window.stride + 1;
}

Attributes window_attributes(const Net::Window& w) {
  return {{"kernel_shape", std::vector<int64_t>{w.size, w.size}},
          {"strides", std::vector<int64_t>{w.stride, w.stride}},
          {"pads", std::vector<int64_t>(4, w.pad)}};
}

double product_of(const Shape& shape) {
  double product = 1;
  for (const int64_t extent : shape)
    product *= static_cast<double>(extent);
  return product;
}

} // namespace

Piece Net::input(const std::string& name, DataType type, const Shape& shape) {
  return {builder_.input(name, type, dims_of(shape)), shape};
}

Piece Net::symbolic_input(const std::string& name, DataType type, const Shape& shape, size_t at,
                          const std::string& symbol) {
  return {builder_.input(name, type, dims_with_symbol(shape, at, symbol)), shape};
}

void Net::output(const Piece& piece, DataType type) {
  builder_.output(piece.id, type, dims_of(piece.shape));
}

void Net::symbolic_output(const Piece& piece, size_t at, const std::string& symbol) {
  builder_.output(piece.id, DataType::F32, dims_with_symbol(piece.shape, at, symbol));
}

ValueId Net::weight(const std::string& name, const Shape& shape, double deviation, double mean) {
  const int64_t elements = elements_of(shape).value_or(0);
  parameters_ += elements;
  const uint64_t seed = scrambled(++weights_) << 20;
  if (!has_elements_)
    return builder_.constant(name, Tensor(DataType::F32, {0}));
  Tensor tensor(DataType::F32, shape);
  // Uniform on [-r, r) has the standard deviation r / sqrt(3).
  const auto reach = static_cast<float>(deviation * std::sqrt(3.0));
  const auto centre = static_cast<float>(mean);
  auto* data = tensor.as<float>();
  for (int64_t k = 0; k < elements; ++k) {
    const auto bits = static_cast<int32_t>(scrambled(seed + static_cast<uint64_t>(k)) >> 40);
    data[k] = centre + reach * (static_cast<float>(bits - (1 << 23)) * 0x1p-23F);
  }
  return builder_.constant(name, std::move(tensor));
}

ValueId Net::constant(const std::string& name, Tensor tensor) {
  return builder_.constant(name, std::move(tensor));
}

ValueId Net::scalar(const std::string& name, double value) {
  Tensor tensor(DataType::F32, {});
  tensor.set_double(0, value);
  return builder_.constant(name, std::move(tensor));
}

ValueId Net::integers(const std::string& name, const std::vector<int64_t>& values) {
  return builder_.integers(name, values);
}

Piece Net::conv(const std::string& name, const Piece& x, int64_t channels, Window window,
                int64_t groups, bool has_bias, double gain) {
  const int64_t depth = x.channels() / groups;
  const int64_t summed = depth * window.size * window.size;
  std::vector<ValueId> inputs{x.id};
  inputs.push_back(weight(name + ".weight", {channels, depth, window.size, window.size},
                          gain / std::sqrt(static_cast<double>(summed))));
  if (has_bias)
    inputs.push_back(weight(name + ".bias", {channels}, 0.05));
  Attributes attributes = window_attributes(window);
  attributes["group"] = groups;
  Shape shape{x.shape[0], channels, pooled(x.shape[2], window), pooled(x.shape[3], window)};
  flops_ += 2.0 * static_cast<double>(summed) * product_of(shape);
  return {builder_.add("Conv", name, std::move(inputs), std::move(attributes)), std::move(shape)};
}

Piece Net::batch_norm(const std::string& name, const Piece& x, double scale) {
  const Shape each{x.channels()};
  std::vector<ValueId> inputs{x.id};
  inputs.push_back(weight(name + ".weight", each, 0.1 * scale, scale));
  inputs.push_back(weight(name + ".bias", each, 0.1));
  inputs.push_back(weight(name + ".running_mean", each, 0.1));
  inputs.push_back(weight(name + ".running_var", each, 0.1, 1));
  return {builder_.add("BatchNormalization", name, std::move(inputs), {{"epsilon", 1e-5}}),
          x.shape};
}

Piece Net::max_pool(const std::string& name, const Piece& x, Window window) {
  return {builder_.add("MaxPool", name, {x.id}, window_attributes(window)),
          {x.shape[0], x.channels(), pooled(x.shape[2], window), pooled(x.shape[3], window)}};
}

Piece Net::global_average_pool(const std::string& name, const Piece& x) {
  return {builder_.add("GlobalAveragePool", name, {x.id}), {x.shape[0], x.channels(), 1, 1}};
}

Piece Net::flatten(const std::string& name, const Piece& x) {
  int64_t rest = 1;
  for (size_t k = 1; k < x.shape.size(); ++k)
    rest *= x.shape[k];
  return {builder_.add("Flatten", name, {x.id}, {{"axis", int64_t{1}}}), {x.shape[0], rest}};
}

Piece Net::gemm(const std::string& name, const Piece& x, int64_t features, double gain) {
  const int64_t depth = x.shape.back();
  const ValueId w =
      weight(name + ".weight", {features, depth}, gain / std::sqrt(static_cast<double>(depth)));
  const ValueId b = weight(name + ".bias", {features}, 0.05);
  flops_ += 2.0 * static_cast<double>(features) * product_of(x.shape);
  return {builder_.add("Gemm", name, {x.id, w, b}, {{"transB", int64_t{1}}}),
          {x.shape[0], features}};
}

Piece Net::tied_gemm(const std::string& name, const Piece& x, const Piece& weights) {
  const int64_t features = weights.shape[0];
  flops_ += 2.0 * static_cast<double>(features) * product_of(x.shape);
  return {builder_.add("Gemm", name, {x.id, weights.id}, {{"transB", int64_t{1}}}),
          {x.shape[0], features}};
}

Piece Net::layer_norm(const std::string& name, const Piece& x) {
  const Shape each{x.shape.back()};
  const ValueId scale = weight(name + ".weight", each, 0.1, 1);
  const ValueId bias = weight(name + ".bias", each, 0.05);
  return {builder_.add("LayerNormalization", name, {x.id, scale, bias},
                       {{"axis", int64_t{-1}}, {"epsilon", 1e-5}}),
          x.shape};
}

Piece Net::linear(const std::string& name, const Piece& x, int64_t features, double gain) {
  const int64_t depth = x.shape.back();
  const ValueId w =
      weight(name + ".weight", {depth, features}, gain / std::sqrt(static_cast<double>(depth)));
  const ValueId b = weight(name + ".bias", {features}, 0.02);
  Shape shape = x.shape;
  shape.back() = features;
  const Piece product = matmul(name + ".product", x, {w, {depth, features}});
  return {builder_.add("Add", name, {product.id, b}), shape};
}

Piece Net::matmul(const std::string& name, const Piece& a, const Piece& b) {
  Shape shape = a.shape;
  shape.back() = b.shape.back();
  flops_ += 2.0 * static_cast<double>(a.shape.back()) * product_of(shape);
  return {builder_.add("MatMul", name, {a.id, b.id}), std::move(shape)};
}

Piece Net::reshape(const std::string& name, const Piece& x, const Shape& shape) {
  const ValueId wanted = integers(name + ".shape", shape);
  return {builder_.add("Reshape", name, {x.id, wanted}), shape};
}

Piece Net::transpose(const std::string& name, const Piece& x, const std::vector<int64_t>& order) {
  Shape shape;
  for (const int64_t from : order)
    shape.push_back(x.shape[static_cast<size_t>(from)]);
  return {builder_.add("Transpose", name, {x.id}, {{"perm", order}}), std::move(shape)};
}

Piece Net::same(const std::string& op, const std::string& name, const std::vector<Piece>& inputs,
                Attributes attributes) {
  return other(op, name, inputs, inputs[0].shape, std::move(attributes));
}

Piece Net::other(const std::string& op, const std::string& name, const std::vector<Piece>& inputs,
                 Shape shape, Attributes attributes) {
  std::vector<ValueId> ids;
  for (const Piece& piece : inputs)
    ids.push_back(piece.id);
  return {builder_.add(op, name, std::move(ids), std::move(attributes)), std::move(shape)};
}

} // namespace kawara::graph::zoo
