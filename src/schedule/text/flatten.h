#pragma once

#include "schedule/directive.h"

namespace kawara::schedule {

/// Members of groups instead of the groups.
inline void flatten(const std::vector<Directive>& from, std::vector<Directive>& to) {
  for (const Directive& directive : from)
    if (const auto* group = std::get_if<Group>(&directive))
      flatten(group->members, to);
    else
      to.push_back(directive);
}

} // namespace kawara::schedule
