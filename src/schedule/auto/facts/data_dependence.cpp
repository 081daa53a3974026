#include "schedule/auto/facts/data_dependence.h"

#include <algorithm>

namespace kawara::schedule {

bool depends_on_data(const Schedule& schedule, const Nest& nest) {
  return std::any_of(nest.statements.begin(), nest.statements.end(), [&](poly::StmtId id) {
    return program::depends_on_data(schedule.scop[id].text);
  });
}

bool depends_on_data(const poly::Scop& scop) {
  return std::any_of(scop.statements.begin(), scop.statements.end(),
                     [](const poly::ScopStatement& s) {
                       return !s.is_removed && program::depends_on_data(s.text);
                     });
}

} // namespace kawara::schedule
