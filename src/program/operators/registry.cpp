#include "program/operators/registry.h"

#include <algorithm>

namespace kawara::program::operators {
namespace {

std::vector<std::span<const Operator>> families() {
  return {attention_operators(),    binary_operators(),        convolution_operators(),
          einsum_operators(),       generator_operators(),     inverse_operators(),
          layout_operators(),       loss_operators(),          normalization_operators(),
          padding_operators(),      pooling_operators(),       product_operators(),
          quantization_operators(), recurrent_operators(),     reduction_operators(),
          resize_operators(),       shape_operators(),         transposed_convolution_operators(),
          unary_operators(),        channels_last_operators(), padded_channels_last_operators()};
}

} // namespace

const Operator* find_operator(std::string_view name) {
  for (const auto family : families())
    for (const Operator& op : family)
      if (op.name == name)
        return &op;
  return nullptr;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto family : families())
    for (const Operator& op : family)
      names.emplace_back(op.name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace kawara::program::operators
