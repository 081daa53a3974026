#include "scalar/float8.h"

#include "support/check.h"

#include <algorithm>
#include <cmath>

namespace kawara::scalar {
namespace {

constexpr Float8Format kF8E4M3{3, 7, 448, 0x7f, false};
constexpr Float8Format kF8E5M2{2, 15, 57344, 0x7c, true};
constexpr uint8_t kSignBit = 0x80, kNanCode = 0x7f;

} // namespace

const Float8Format& float8_format(Elem elem) {
  KAWARA_CHECK(is_float8(elem), "a float of 8 bits");
  return elem == Elem::F8E4M3 ? kF8E4M3 : kF8E5M2;
}

uint8_t float8_bits(Elem elem, double value) {
  const Float8Format& format = float8_format(elem);
  if (std::isnan(value))
    return kNanCode;
  const uint8_t sign = std::signbit(value) ? kSignBit : 0;
  const double magnitude = std::min(std::fabs(value), format.largest);
  if (magnitude == 0)
    return sign;
  // All values of the format at this magnitude are multiples of 2^quantum. Rounding may carry into
  // the next exponent; codes grow with values, so adding handles it.
  const int lowest = 1 - format.bias;
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  const int quantum = exponent - format.fraction_bits;
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -quantum)));
  const int code = ((exponent - lowest) << format.fraction_bits) + steps;
  return static_cast<uint8_t>(sign | code);
}

double float8_value(Elem elem, uint8_t bits) {
  const Float8Format& format = float8_format(elem);
  const double sign = (bits & kSignBit) != 0 ? -1.0 : 1.0;
  const int code = bits & ~kSignBit;
  if (code >= format.first_special)
    return format.has_infinity && code == format.first_special ? sign * INFINITY
                                                               : std::copysign(NAN, sign);
  const int exponent = code >> format.fraction_bits;
  const int fraction = code & ((1 << format.fraction_bits) - 1);
  const int whole = exponent > 0 ? fraction + (1 << format.fraction_bits) : fraction;
  return sign * std::ldexp(whole, std::max(exponent, 1) - format.bias - format.fraction_bits);
}

} // namespace kawara::scalar
