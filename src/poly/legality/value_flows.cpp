#include "poly/legality/value_flows.h"

#include "poly/accesses.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/dependences.h"

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

/// { S[x] -> T[element] : nothing writes the element after x }
isl::union_map last_writes(const Touched& all, const isl::union_map& times) {
  const isl::union_set overwritten = flow_of(all.writes, all.writes, times).domain();
  return all.results.subtract(all.results.intersect_domain(overwritten));
}

isl::union_set domains_of(const Scop& scop, const std::set<StmtId>& statements) {
  isl::union_set all = no_pairs(scop).domain();
  for (const StmtId id : statements)
    all = all.unite(isl::union_set(scop[id].domain));
  return all;
}

/// What has its value from a copy has it from where that has it; what a copy has from nowhere was
/// there before all statements.
class Resolved {
public:
  Resolved(isl::union_map into_copies, isl::union_set copies, size_t count)
      : into_copies_(std::move(into_copies)), copies_(std::move(copies)), count_(count) {}

  isl::union_map operator()(isl::union_map from) const {
    for (size_t k = 0; k < count_; ++k) {
      const isl::union_map through = from.intersect_domain(copies_);
      if (through.is_empty())
        break;
      from = from.subtract(through).unite(into_copies_.apply_range(through));
    }
    return from;
  }

private:
  isl::union_map into_copies_;
  isl::union_set copies_;
  size_t count_;
};

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

bool have_same_values(const Scop& before, const Scop& after, const std::set<uint32_t>& tensors,
                      const std::set<StmtId>& copies) {
  const std::vector<Access> one = bare_accesses(before), other = bare_accesses(after);
  if (one.size() != other.size())
    return false;
  std::vector<bool> is_asked, is_asked_after;
  for (size_t k = 0; k < one.size(); ++k) {
    if (one[k].statement != other[k].statement || one[k].is_write != other[k].is_write)
      return false;
    is_asked.push_back(tensors.contains(one[k].tensor) || tensors.contains(other[k].tensor));
    is_asked_after.push_back(is_asked.back() && !copies.contains(one[k].statement));
  }
  const Touched then = touched(before, one, is_asked), now = touched(after, other, is_asked_after);
  const isl::union_map times = times_of(before, before.source_order);
  const isl::union_set copying = domains_of(before, copies);
  std::vector<isl::union_map> flows;
  for (const isl::union_map& reads : then.reads)
    flows.push_back(flow_of(reads, then.writes, times));
  // A copy has one read: the first of its statement.
  const Resolved resolved(flows.empty() ? no_pairs(before) : flows.front().intersect_range(copying),
                          copying, copies.size());
  for (size_t k = 0; k < flows.size(); ++k) {
    const isl::union_map expected = resolved(flows[k].subtract(flows[k].intersect_range(copying)));
    const isl::union_map found =
        k < now.reads.size() ? flow_of(now.reads[k], now.writes, times) : no_pairs(before);
    if (!expected.is_equal(found))
      return false;
  }
  return resolved(last_writes(then, times)).is_equal(last_writes(now, times));
}

} // namespace kawara::poly
