#pragma once

#include "program/interpret/values.h"
#include "program/program.h"

namespace kawara::program {

/// Values of parameters that the shapes of given arrays tell: an array of [4, 7] for `A: f32[M, 2 *
/// K + 1]` says M = 4 and K = 3. Parameters in `known` keep their values. Shapes that contradict
/// each other, or that no value gives, tell what the first of them does; binding the arrays refuses
/// the others (K0402).
std::map<std::string, int64_t> sizes_from_arrays(const Program&, const Arrays& given,
                                                 std::map<std::string, int64_t> known);

} // namespace kawara::program
