#include "scalar/half.h"

#include <cmath>

namespace kawara::scalar {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  }
};

constexpr Format kF16{5, 10};
constexpr Format kBF16{8, 7};

uint16_t bits_of(const Format& format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | format.infinity() | static_cast<uint16_t>(1 << (format.mantissa_bits - 1));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | format.infinity();
  if (magnitude == 0)
    return sign;
  // All elements of the format at this magnitude are multiples of 2^quantum; scaling by a power of
  // two is exact here, so nearbyint does the one rounding.
  const int lowest = 1 - format.bias();
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  const int quantum = exponent - format.mantissa_bits;
  const double steps = std::nearbyint(std::ldexp(magnitude, -quantum));
  // `steps` may carry into the next exponent; the encoding is monotone, so adding handles it.
  const auto below = static_cast<int64_t>(exponent - lowest) << format.mantissa_bits;
  const int64_t encoded = below + static_cast<int64_t>(steps);
  return sign | static_cast<uint16_t>(std::min<int64_t>(encoded, format.infinity()));
}

double value_of(const Format& format, uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits & 0x7fff) >> format.mantissa_bits;
  if (exponent == (1 << format.exponent_bits) - 1)
    return mantissa == 0 ? sign * INFINITY : std::copysign(NAN, sign);
  const int lowest = 1 - format.bias();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, lowest - format.mantissa_bits);
  const int whole = mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(whole, lowest + exponent - 1 - format.mantissa_bits);
}

} // namespace

uint16_t f16_bits(double value) { return bits_of(kF16, value); }
double f16_value(uint16_t bits) { return value_of(kF16, bits); }
uint16_t bf16_bits(double value) { return bits_of(kBF16, value); }
double bf16_value(uint16_t bits) { return value_of(kBF16, bits); }

} // namespace kawara::scalar
