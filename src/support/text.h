#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kawara {

/// "a, b, c" for ({"a", "b", "c"}, ", ").
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Pieces of `text` between the separators; one piece more than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

/// The candidate that `name` was probably meant to be: fewest single-character edits (insert,
/// delete, replace, swap of neighbours), at most a third of the longer name, and never zero.
/// The earlier candidate wins a tie. For "did you mean" help.
std::optional<std::string> closest(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// One line as a terminal can show it: tabs become blanks up to the next multiple of `tab`
/// columns, other control characters and bytes that are not UTF-8 become `?`.
std::string printable(std::string_view line, size_t tab = 4);

/// Terminal columns that a printable UTF-8 text takes: wide characters take two, combining none.
size_t display_width(std::string_view printable_text);

} // namespace kawara
