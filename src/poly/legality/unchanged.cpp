#include "poly/legality/unchanged.h"

#include "poly/accesses.h"
#include "poly/syntactic/against_sets.h"
#include "poly/syntactic/prover.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace kawara::poly {
namespace {

/// Dependences by what they are between.
using Key = std::tuple<StmtId, StmtId, uint32_t, DependenceKind, bool>;
using AccessPair = std::pair<const Access*, const Access*>;

isl::map all_pairs_of(const Scop& scop, const std::vector<AccessPair>& accesses) {
  std::optional<isl::map> all;
  for (const auto& [source, sink] : accesses) {
    const isl::map own =
        pairs_in_plain_order(scop, scop.source_order, pairs_of_accesses(scop, *source, *sink),
                             source->statement, sink->statement);
    all = all ? all->unite(own) : own;
  }
  return all->intersect_params(scop.context);
}

Counterexample against_unchanged(const Scop& scop, const Dependence* kept,
                                 const std::vector<AccessPair>& accesses) {
  const isl::map pairs = all_pairs_of(scop, accesses);
  if (kept == nullptr)
    return point_of(pairs);
  if (auto point = point_of(pairs.subtract(kept->relation)))
    return "missing: " + *point;
  if (auto point = point_of(kept->relation.intersect_params(scop.context).subtract(pairs)))
    return "no dependence: " + *point;
  return std::nullopt;
}

} // namespace

void compare_unchanged(const Scop& scop, const std::vector<Dependence>& dependences,
                       const std::function<bool(const Access&, const Access&)>& is_kept) {
  const SyntacticProver prover(scop);
  if (!prover.is_comparing())
    return;
  const std::vector<Access> accesses = bare_accesses(scop);
  std::map<Key, std::vector<AccessPair>> by_key;
  for (const Access& a : accesses)
    for (const Access& b : accesses)
      if (a.tensor == b.tensor && (a.is_write || b.is_write) && is_kept(a, b) &&
          (!commute(scop, a, b) || kind_of(a, b) == DependenceKind::Flow))
        by_key[{a.statement, b.statement, a.tensor, kind_of(a, b), commute(scop, a, b)}]
            .emplace_back(&a, &b);
  for (const auto& [key, pairs] : by_key) {
    const auto kept =
        std::find_if(dependences.begin(), dependences.end(), [&](const Dependence& d) {
          return key == Key{d.source, d.sink, d.tensor, d.kind, d.is_reduction};
        });
    const auto claim = [&] {
      const auto& [source, sink, tensor, kind, is_reduction] = key;
      return std::string(name_of(kind)) + " of " + scop.tensors[tensor].name + " from " +
             scop[source].text.name + " to " + scop[sink].text.name;
    };
    prover.compare(Question::Unchanged, claim, [&] {
      return against_unchanged(scop, kept == dependences.end() ? nullptr : &*kept, pairs);
    });
  }
}

} // namespace kawara::poly
