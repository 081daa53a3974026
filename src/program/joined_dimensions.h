#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The program with two neighbouring dimensions of the results of products counted as one, where all statements walk
/// through both of them whole and together; loops and tensors alike.
///
///   before   out[k, h, w] += image[c, h, w] * weight[k, c]        h, w < 14
///   after    out[k, h_w] += image[c, h_w] * weight[k, c]          h_w < 196
///
/// Tensors keep their cells where they are: only their shapes differ, those of inputs and outputs too. What it is for: rows that
/// are no whole vectors, of which the joined loop has one at its end only. Joined is only the loop pair of a sum of
/// products of which one operand does not move along it, and whose inner loop's length is no multiple of `unit`.
/// Nothing when there is none.
std::optional<Program> with_joined_dimensions(const Program&, int64_t unit);

} // namespace kawara::program
