#include "poly/value_flows.h"

#include "poly/accesses.h"
#include "poly/dependences.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"

#include <algorithm>
#include <map>
#include <string>

namespace kawara::poly {
namespace {

isl::union_map no_pairs(const Scop& scop) {
  return isl::union_map::empty(scop.context_owner->get());
}

isl::union_map flow_of(const isl::union_map& sinks, const isl::union_map& sources,
                       const isl::union_map& times) {
  return isl::union_access_info(sinks)
      .set_must_source(sources)
      .set_schedule_map(times)
      .compute_flow()
      .must_dependence();
}

/// What the statements of a scop do to some tensors.
struct Touched {
  /// In each at most one read of a statement: flows are told apart by statements alone.
  std::vector<isl::union_map> reads;
  isl::union_map writes;
  isl::union_map results; ///< of `writes`, those of tensors that the caller sees
};

Touched touched(const Scop& scop, const std::vector<Access>& all,
                const std::vector<bool>& is_asked) {
  Touched out{{}, no_pairs(scop), no_pairs(scop)};
  std::map<StmtId, size_t> count;
  for (size_t k = 0; k < all.size(); ++k) {
    if (!is_asked[k])
      continue;
    const isl::union_map relation(relation_of(scop, all[k]).intersect_params(scop.context));
    if (!all[k].is_write) {
      const size_t at = count[all[k].statement]++;
      if (at == out.reads.size())
        out.reads.push_back(no_pairs(scop));
      out.reads[at] = out.reads[at].unite(relation);
      continue;
    }
    out.writes = out.writes.unite(relation);
    if (scop.tensors[all[k].tensor].role != program::Role::Temp)
      out.results = out.results.unite(relation);
  }
  return out;
}

/// { S[x] -> T[cell] : nothing writes the cell after x }
isl::union_map last_writes(const isl::union_map& results, const isl::union_map& writes,
                           const isl::union_map& times) {
  const isl::union_set overwritten = flow_of(writes, writes, times).domain();
  return results.subtract(results.intersect_domain(overwritten));
}

} // namespace

std::vector<ValueFlow> value_flows(const Scop& scop, uint32_t tensor) {
  isl::union_map reads = no_pairs(scop), writes = no_pairs(scop);
  for (const Access& access : accesses_of(scop, tensor)) {
    const isl::union_map relation(access.relation.intersect_params(scop.context));
    (access.is_write ? writes : reads) = (access.is_write ? writes : reads).unite(relation);
  }
  std::map<std::string, StmtId> by_name;
  for (uint32_t s = 0; s < scop.statements.size(); ++s)
    by_name.emplace(scop.statements[s].text.name, StmtId{s});
  std::vector<ValueFlow> flows;
  flow_of(reads, writes, times_of(scop, scop.source_order)).foreach_map([&](const isl::map& map) {
    if (!map.is_empty())
      flows.push_back(
          {by_name.at(domain_tuple_name(map)), by_name.at(range_tuple_name(map)), coalesced(map)});
  });
  // isl names them in the order of its hash tables.
  std::sort(flows.begin(), flows.end(), [](const ValueFlow& a, const ValueFlow& b) {
    return std::pair(a.source, a.sink) < std::pair(b.source, b.sink);
  });
  return flows;
}

bool have_same_values(const Scop& before, const Scop& after, const std::set<uint32_t>& tensors) {
  const std::vector<Access> one = bare_accesses(before), other = bare_accesses(after);
  if (one.size() != other.size())
    return false;
  std::vector<bool> is_asked;
  for (size_t k = 0; k < one.size(); ++k) {
    if (one[k].statement != other[k].statement || one[k].is_write != other[k].is_write)
      return false;
    is_asked.push_back(tensors.contains(one[k].tensor) || tensors.contains(other[k].tensor));
  }
  const Touched then = touched(before, one, is_asked), now = touched(after, other, is_asked);
  const isl::union_map times = times_of(before, before.source_order);
  for (size_t k = 0; k < then.reads.size(); ++k)
    if (!flow_of(then.reads[k], then.writes, times)
             .is_equal(flow_of(now.reads[k], now.writes, times)))
      return false;
  return last_writes(then.results, then.writes, times)
      .is_equal(last_writes(now.results, now.writes, times));
}

} // namespace kawara::poly
