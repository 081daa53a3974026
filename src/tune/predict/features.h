#pragma once

#include "tune/space/space.h"

#include <optional>
#include <string_view>
#include <vector>

namespace kawara::tune {

/// What is counted of a point before there is code. Everything that can be large is a logarithm.
using Features = std::vector<double>;
std::vector<std::string_view> feature_names();

/// The features of a point, or nothing when the shape of the loops refuses it. The order is worked
/// out without the judge and without new statements, so this takes less than a millisecond.
///
/// For each statement, from its loops outside in: lengths, marks, how its accesses move along each
/// loop, the accumulators and loads of the unrolled body, the share of iterations that only fill up
/// tiles, the bytes that come from beyond each cache, the work of a thread. Statements are added up
/// by their share of all iterations.
std::optional<Features> features_of(const Space&, const Point&);

/// Whether unrolled bodies want so many more registers than there are that most of their values
/// would be spilled: such code is slow, and takes the longest to compile.
bool overflows_registers(const Features&);

/// A guess at the time, in cycles of one core, by formula; only good for comparing points of one
/// task.
double analytic_cost(const Features&);

} // namespace kawara::tune
