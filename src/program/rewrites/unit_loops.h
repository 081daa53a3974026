#pragma once

#include "program/program.h"

#include <set>

namespace kawara::program {

/// The program without loops of one iteration: their index is its only value.
///
///   before   for m in range(1): for n in range(8): T[n] += X[k] * W[n, k]
///   after    for n in range(8): T[n] += X[k] * W[n, k]
///
/// What they are in the way of: a loop that moves nothing looks like one that reduces. Loops in
/// `kept`, by their number in text order, stay.
Program without_unit_loops(Program, const std::set<size_t>& kept = {});

} // namespace kawara::program
