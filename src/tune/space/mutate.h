#pragma once

#include "tune/rng.h"
#include "tune/space/knobs.h"
#include "tune/space/point.h"

#include <vector>

namespace kawara::tune {

/// What changing a list depends on.
struct Surroundings {
  Extents extents;
  int64_t statements = 0; ///< of the program, before directives add some
};

/// The list with one thing changed: mostly a number, sometimes the order of two loops, a mark that
/// comes, goes or moves, a copy that moves or goes. The list itself where nothing can be changed.
std::vector<Directive> mutated(const std::vector<Directive>&, const Surroundings&, Rng&);

/// All numbers drawn anew.
std::vector<Directive> annotated(std::vector<Directive>, const Surroundings&, Rng&);

/// Numbers of either parent where both are lists of the same directives on the same loops; else the
/// first parent with the second's directives for the loops of some statement.
std::vector<Directive> crossed(const std::vector<Directive>&, const std::vector<Directive>&,
                               const Surroundings&, Rng&);

/// Every list that differs in one thing and is worth a look, in a fixed order.
std::vector<std::vector<Directive>> neighbours(const std::vector<Directive>&, const Surroundings&);

} // namespace kawara::tune
