#include "poly/shown.h"

#include <algorithm>

namespace kawara::poly {
namespace {

bool is_same_level(const KeptOrder::Level& a, const KeptOrder::Level& b) {
  return a.is_parallel == b.is_parallel && a.vector_width == b.vector_width &&
         scalar::equal(a.source, b.source) && scalar::equal(a.sink, b.sink);
}

} // namespace

const KeptOrder* find_kept(const Shown& shown, const KeptOrder& asked) {
  const auto at = std::find_if(shown.kept.begin(), shown.kept.end(), [&](const KeptOrder& kept) {
    return kept.order == asked.order && kept.may_reassociate == asked.may_reassociate &&
           std::equal(kept.levels.begin(), kept.levels.end(), asked.levels.begin(),
                      asked.levels.end(), is_same_level);
  });
  return at == shown.kept.end() ? nullptr : &*at;
}

} // namespace kawara::poly
