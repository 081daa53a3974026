#pragma once

#include "program/program.h"

#include <optional>

namespace kawara::program {

/// The program with two neighbouring dimensions counted as one, where all statements walk through
/// both of them whole and together; loops and tensors alike.
///
///   before   out[k, h, w] += image[c, h, w] * weight[k, c]        h, w < 14
///   after    out[k, h_w] += image[c, h_w] * weight[k, c]          h_w < 196
///
/// Tensors keep their elements where they are: only their shapes differ, those of inputs and
/// outputs too. What it is for:
///   - a sum of products of which one operand does not move along the two loops: an outermost loop
///     of more rows, and inside others, where the inner loop is no multiple of `unit`, a row of
///     which only the last vector is not whole
///   - the outermost loops of several nests, of which one reduces: these can share one loop over
///     rows, and threads all of them
///   - two loops over which something is reduced: threads can share one long loop evenly
/// Nothing when there is none; one such pair at a time.
std::optional<Program> with_joined_dimensions(const Program&, int64_t unit);

/// The same for loops that give each element a value and nothing else, where rows are no whole
/// groups of `bytes` and all elements together make longer ones. What else such a statement reads,
/// it finds by division.
///
///   before   Y[i, j] = gelu(X[i, j] + b[j])          i < 808, j < 6921
///   after    Y[i_j] = gelu(X[i_j] + b[i_j % 6921])   i_j < 5592168
///
/// One pair of dimensions at a time.
std::optional<Program> with_flat_maps(const Program&, int64_t bytes);

} // namespace kawara::program
