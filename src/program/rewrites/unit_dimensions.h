#pragma once

#include "program/program.h"

namespace kawara::program {

/// The program without loops of one iteration, and without the dimensions of one element that
/// nothing but they walked through.
///
///   before   out[n, k, h, w] += image[n, c, h + r, w + s] * weight[k, c, r, s]        n < 1
///   after    out[k, h, w] += image[c, h + r, w + s] * weight[k, c, r, s]
///
/// Tensors keep their elements where they are: only their shapes differ, those of inputs and
/// outputs too; one dimension stays. A loop that is the only one to move an operand of a product
/// stays as well, and with it those of what is made of its result element by element: the product
/// of one row is a product. So does one around which nothing else is.
Program without_unit_dimensions(Program);

} // namespace kawara::program
