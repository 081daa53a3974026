#pragma once

#include "program/interpret/values.h"
#include "program/program.h"

namespace kawara::bench {

/// Turns pattern inputs of an example into ones for which its numbers stay tame: matrices that can be
/// factored without pivoting, distances that are not negative, bases that exist. `example` is the name
/// of the file without folder and ending; most need no change.
void make_sound(const std::string& example, program::Arrays& inputs);

/// Drops from results what depends on the last rounding error only: columns that Gram-Schmidt makes
/// out of nothing when there are more columns than rows.
void drop_noise(const std::string& example, program::Arrays& results);

} // namespace kawara::bench
