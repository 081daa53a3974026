#include "cpu/operands.h"

#include "scalar/half.h"

#include <cmath>

namespace kawara::bench {
namespace {

/// Uniform in [-1, 1): the upper bits of a multiplicative generator.
float next_uniform(uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<float>(static_cast<int64_t>(state >> 40U) - (int64_t{1} << 23)) / 8388608.0F;
}

const int8_t* as_i8(const float* from, int64_t elements, std::vector<run::Buffer>& buffers) {
  buffers.emplace_back(elements);
  auto* to = buffers.back().as<int8_t>();
  for (int64_t i = 0; i < elements; ++i)
    to[i] = static_cast<int8_t>(std::lround(from[i] * 127));
  return to;
}

const uint16_t* as_f16(const float* from, int64_t elements, std::vector<run::Buffer>& buffers) {
  buffers.emplace_back(elements * 2);
  auto* to = buffers.back().as<uint16_t>();
  for (int64_t i = 0; i < elements; ++i)
    to[i] = scalar::f16_bits(from[i]);
  return to;
}

} // namespace

const float* OperandMemory::floats(int64_t elements) {
  buffers_.emplace_back(elements * 4);
  auto* data = buffers_.back().as<float>();
  for (int64_t i = 0; i < elements; ++i)
    data[i] = next_uniform(state_);
  return data;
}

OperandMemory::OperandMemory(const Case& c) {
  switch (c.op) {
  case Op::Gemm:
  case Op::GemmI8:
  case Op::GemmF16:
  case Op::GemmGelu:
    operands_.a = floats(c.m * c.k);
    operands_.b = floats(c.k * c.n);
    break;
  case Op::Conv:
    operands_.a = floats(c.conv.channels * c.conv.size * c.conv.size);
    operands_.b = floats(c.conv.filters * (c.conv.is_depthwise ? 1 : c.conv.channels) *
                         c.conv.window * c.conv.window);
    break;
  case Op::ConvPool: {
    operands_.a = floats(c.conv.channels * c.conv.size * c.conv.size);
    operands_.b = floats(c.conv.filters * c.conv.channels * c.conv.window * c.conv.window);
    // gamma, beta, mean, variance; the last is positive
    operands_.c = floats(4 * c.conv.filters);
    auto* variance = buffers_.back().as<float>() + 3 * c.conv.filters;
    for (int64_t k = 0; k < c.conv.filters; ++k)
      variance[k] = std::abs(variance[k]) + 0.5F;
    break;
  }
  case Op::Attention:
    operands_.a = floats(output_elements(c));
    operands_.b = floats(output_elements(c));
    operands_.c = floats(output_elements(c));
    break;
  case Op::LayerNorm:
    operands_.a = floats(c.m * c.n);
    operands_.b = floats(c.n);
    operands_.c = floats(c.n);
    break;
  case Op::AddRelu:
    operands_.a = floats(c.m * c.n);
    operands_.b = floats(c.m * c.n);
    break;
  default:
    operands_.a = floats(c.m * c.n);
  }
  if (c.op == Op::GemmI8) {
    operands_.a_i8 = as_i8(operands_.a, c.m * c.k, buffers_);
    operands_.b_i8 = as_i8(operands_.b, c.k * c.n, buffers_);
  }
  if (c.op == Op::GemmF16) {
    operands_.a_f16 = as_f16(operands_.a, c.m * c.k, buffers_);
    operands_.b_f16 = as_f16(operands_.b, c.k * c.n, buffers_);
  }
}

} // namespace kawara::bench
