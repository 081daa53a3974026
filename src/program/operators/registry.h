#pragma once

#include "program/operators/definition.h"

#include <span>
#include <string_view>

namespace kawara::program::operators {

/// An operator of the ONNX standard and the rule that says what it means.
struct Operator {
  std::string_view name;
  void (*rule)(Definition&);
};

/// The rule of a standard operator; null when its meaning is never a program, a view or constants.
const Operator* find_operator(std::string_view name);
/// All of them, sorted by name.
std::vector<std::string> operator_names();

// One list per family.
std::span<const Operator> attention_operators();
std::span<const Operator> binary_operators();
/// Not the standard's: what graph/optimise/channels_last makes of some of them.
std::span<const Operator> channels_last_operators();
std::span<const Operator> padded_channels_last_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> einsum_operators();
std::span<const Operator> generator_operators();
std::span<const Operator> inverse_operators();
std::span<const Operator> layout_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> normalization_operators();
std::span<const Operator> padding_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> product_operators();
std::span<const Operator> quantization_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> transposed_convolution_operators();
std::span<const Operator> unary_operators();

} // namespace kawara::program::operators
