#pragma once

#include "oracle/sketch.h"
#include "schedule/directive.h"

#include <random>
#include <vector>

namespace kawara::oracle {

/// Which programs are drawn for directives that ask for a certain form, `tensorize` and `online`:
/// the programs of random_program.h hardly ever have it.
bool has_plan(uint64_t seed);

/// A product of small matrices of types that instructions multiply, or rows whose sums need their
/// maximum, drawn by `seed`. Its text is given as a whole.
Sketch planned_program(uint64_t seed);

/// Directives that lead the program to instructions or to one pass, drawn with their sizes and with
/// some left out. Others may stand between them.
std::vector<schedule::Directive> random_plan(const Sketch&, std::mt19937_64& random);

} // namespace kawara::oracle
