#pragma once

#include "schedule/directive.h"
#include "support/diagnostic.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tune {

using schedule::Directive;
using schedule::LoopName;

/// One place of the search: directives, applied as one group, and the sketch that they grew from.
struct Point {
  std::vector<Directive> directives; ///< no groups among them
  std::string sketch;
};

/// As text that `-s` takes: `[a; b]`, `auto` alone without brackets, nothing for the source order.
std::string text_of(const Point&);
/// Nothing when the text is no list of directives. Groups become their members.
std::optional<Point> point_from_text(const std::string& text, std::string sketch);

/// Calls `f` for every loop that a directive names.
void visit_loops(Directive&, const std::function<void(LoopName&)>& f);
void visit_loops(const Directive&, const std::function<void(const LoopName&)>& f);

/// Statements that a directive adds to a program when it is applied.
int64_t added_statements(const Directive&);

/// The list without one directive, without what is said about the statements that it added, and
/// with the numbers of later ones moved up. `statements` is their number before the list.
std::vector<Directive> without(const std::vector<Directive>&, size_t index, int64_t statements);

} // namespace kawara::tune
