#pragma once

#include "scalar/type.h"

namespace kawara::scalar {

// Storage formats of 8-bit floats, by element type:
//
//            sign, exponent, fraction   bias   largest   smallest   infinities   NaN
//   F8E4M3   1, 4, 3                    7      448       2^-9       none         0x7f, 0xff
//   F8E5M2   1, 5, 2                    15     57344     2^-16      0x7c, 0xfc   0x[7f]d to 0x[7f]f
//
// Conversion to bits rounds to nearest even in one step; what is larger than the largest finite
// value, infinities included, becomes that one (so do the converting instructions of GPUs). NaN
// becomes 0x7f; subnormals are kept.

uint8_t float8_bits(Elem, double value);
double float8_value(Elem, uint8_t bits);

/// What code that converts needs to know.
struct Float8Format {
  int fraction_bits;
  int bias;
  double largest;
  uint8_t first_special; ///< least magnitude that is no finite number
  bool has_infinity;
};
const Float8Format& float8_format(Elem);

} // namespace kawara::scalar
