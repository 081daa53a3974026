#include "kernel/from_schedule/from_schedule_guards.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/pieces.h"

namespace kawara::kernel {

Guarded guarded(const poly::Scop& scop) {
  Guarded result{scop, {}};
  for (uint32_t id = 0; id < scop.statements.size(); ++id) {
    isl::set& domain = result.scop.statements[id].domain;
    if (scop.statements[id].is_removed || !poly::is_joined_wrongly(domain))
      continue;
    result.conditions[id] = poly::condition_from_set(domain, scop.params);
    domain = poly::in_one_piece(domain);
  }
  return result;
}

} // namespace kawara::kernel
