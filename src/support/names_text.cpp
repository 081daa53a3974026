#include "support/names_text.h"

#include "support/text.h"

#include <fmt/core.h>

namespace kawara {

std::string names_text(std::string_view owner, std::string_view noun,
                       const std::vector<std::string>& names) {
  if (names.empty())
    return fmt::format("{} has no {}s.", owner, noun);
  return names.size() == 1 ? fmt::format("{}'s only {} is {}.", owner, noun, names.front())
                           : fmt::format("{}'s {}s are {}.", owner, noun, join(names, ", "));
}

} // namespace kawara
