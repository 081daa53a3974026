#pragma once

#include "program/program.h"
#include "support/result.h"

#include <string>

namespace kawara::poly {

/// The program with `result`, an output, in the memory of `operand`, an input.
///
///   before   input X: f32[8, 8]     output Y: f32[8, 8]     Y[i, j] = X[i, j] + silu(T[i, j])
///   after    inout Y: f32[8, 8]                             Y[i, j] = Y[i, j] + silu(T[i, j])
///
/// Needs    one type and shape for both; a result that is stored, not read or added to, and as a
///          whole; and for every element that only the iteration that writes it reads it: the new
///          program has no dependence between a read and a write of that memory, so that every
///          order of the old one has the same meaning there. The reason elsewhere.
Result<program::Program, std::string> in_place(const program::Program&, uint32_t operand,
                                               uint32_t result);

} // namespace kawara::poly
