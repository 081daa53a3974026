#pragma once

#include <cstdint>

namespace kawara::scalar {

// Storage formats of 16-bit floats. Conversion to bits rounds to nearest even in one step; values
// past the largest finite one become infinities, NaN stays NaN, subnormals are kept.

uint16_t f16_bits(double value);
double f16_value(uint16_t bits);
uint16_t bf16_bits(double value);
double bf16_value(uint16_t bits);

} // namespace kawara::scalar
