#pragma once

#include "poly/legality/dependences.h"

#include <string>
#include <string_view>
#include <vector>

namespace kawara::explain {

/// "flow", "anti", "output".
std::string_view short_name(poly::DependenceKind);

/// Said of dependences that are not exact (poly::shown_dependences).
inline constexpr const char* kAllPairs =
    "note: these are all pairs of iterations that touch one element; which of them hand a value on "
    "takes too long to find out";

/// "S0 -> S1, A, distance (i +1)  direction (<), always".
std::string line_of(const poly::Summary&);
/// One line per dependence: kind, ends, tensor, distance, for which sizes.
std::string dependence_text(const std::vector<poly::Summary>&);
/// The same as a Graphviz digraph: statements are nodes, dependences labelled edges.
std::string dependence_dot(const std::vector<poly::Summary>&,
                           const std::vector<std::string>& statements);
/// A picture that needs no other program.
std::string dependence_svg(const std::vector<poly::Summary>&,
                           const std::vector<std::string>& statements);

} // namespace kawara::explain
