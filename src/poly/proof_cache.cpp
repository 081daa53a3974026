#include "poly/proof_cache.h"

#include <algorithm>

namespace kawara::poly {
namespace {

bool is_same_level(const ProvedOrder::Level& a, const ProvedOrder::Level& b) {
  return a.is_parallel == b.is_parallel && a.vector_width == b.vector_width &&
         a.is_scan == b.is_scan && scalar::equal(a.source, b.source) &&
         scalar::equal(a.sink, b.sink);
}

} // namespace

const ProvedOrder* find_kept(const ProofCache& shown, const ProvedOrder& asked) {
  const auto at = std::find_if(shown.kept.begin(), shown.kept.end(), [&](const ProvedOrder& kept) {
    return kept.order == asked.order && kept.may_reassociate == asked.may_reassociate &&
           std::equal(kept.levels.begin(), kept.levels.end(), asked.levels.begin(),
                      asked.levels.end(), is_same_level);
  });
  return at == shown.kept.end() ? nullptr : &*at;
}

} // namespace kawara::poly
