#include "poly/legality/shown_dependences.h"

namespace kawara::poly {

ShownDependences shown_dependences(const Scop& scop, unsigned long quota) {
  ShownDependences shown;
  shown.is_exact =
      within_quota(*scop.context_owner, quota, [&] { shown.all = exact_dependences(scop); });
  if (!shown.is_exact)
    shown.all = scop.dependences;
  return shown;
}

} // namespace kawara::poly
