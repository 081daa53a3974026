#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kawara {

/// What something has, by name: "The model's inputs are a, b.", "The model's only input is a.",
/// "The model has no inputs."
std::string names_text(std::string_view owner, std::string_view noun,
                       const std::vector<std::string>& names);

} // namespace kawara
