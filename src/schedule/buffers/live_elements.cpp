#include "schedule/buffers/live_elements.h"

#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/legality/witness.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Access;

/// The same elements at the same iterations: counting one of them is enough.
bool is_same_access(const Access& a, const Access& b) {
  return a.statement == b.statement && a.is_write == b.is_write &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const auto& x, const auto& y) { return scalar::equal(x, y); });
}

/// { [c] -> [e] } with the same place in all dimensions but `dim`, and there `condition` on e and
/// d.
isl::map same_but(isl::ctx ctx, size_t rank, size_t dim, const std::string& condition) {
  std::string from, to, all = condition;
  for (size_t d = 0; d < rank; ++d) {
    const std::string comma = d == 0 ? "" : ", ";
    const std::string number = std::to_string(d);
    from += comma + (d == dim ? "a" : "c" + number);
    to += comma + (d == dim ? "b" : "e" + number);
    if (d != dim)
      all += " and c" + number + " = e" + number;
  }
  return isl::map(ctx, "{ [" + from + "] -> [" + to + "] : " + all + " }");
}

std::vector<int64_t> element_of(const Access& access, const std::vector<int64_t>& params,
                                const std::vector<int64_t>& at) {
  std::vector<int64_t> element;
  for (const scalar::Expr& e : access.index)
    element.push_back(poly::value_at(e, params, at));
  return element;
}

} // namespace

LiveElements::LiveElements(const poly::Scop& scop, const poly::Order& order, uint32_t tensor)
    : scop_(scop) {
  for (Access& access : poly::accesses(scop))
    if (access.tensor == tensor &&
        std::none_of(accesses_.begin(), accesses_.end(),
                     [&](const Access& seen) { return is_same_access(seen, access); }))
      accesses_.push_back(std::move(access));
  for (const Access& write : accesses_)
    for (const Access& read : accesses_) {
      if (!write.is_write || read.is_write)
        continue;
      const isl::map flow =
          elements(write)
              .apply_range(elements(read).reverse())
              .intersect(poly::before(scop, order, write.statement, read.statement))
              .intersect_params(scop.context);
      if (flow.is_empty())
        continue;
      for (const Access& other : accesses_) {
        if (!other.is_write)
          continue;
        const isl::map after = poly::before(scop, order, write.statement, other.statement);
        const isl::map ahead = poly::before(scop, order, other.statement, read.statement);
        const isl::map triples =
            poly::coalesced(flow.range_product(after).intersect_range(ahead.reverse().wrap()));
        if (!triples.is_empty())
          between_.push_back({&write, &read, &other, triples});
      }
    }
}

isl::map LiveElements::elements(const Access& access) const {
  return map_of(access.index, scop_[access.statement].domain, scop_.params);
}

std::optional<int64_t> LiveElements::reach(size_t dim) const {
  int64_t farthest = 0;
  for (const Between& b : between_) {
    const isl::map pairs = elements(*b.write)
                               .reverse()
                               .apply_range(b.triples.range_factor_range())
                               .apply_range(elements(*b.other));
    const size_t rank = b.write->index.size();
    const isl::set distances = pairs.intersect(same_but(pairs.ctx(), rank, dim, "a != b")).deltas();
    if (distances.is_empty())
      continue;
    const auto low = poly::dimension_min(distances, static_cast<unsigned>(dim));
    const auto high = poly::dimension_max(distances, static_cast<unsigned>(dim));
    if (!low || !high)
      return std::nullopt;
    farthest = std::max({farthest, -*low, *high});
  }
  return farthest;
}

std::optional<Intrusion> LiveElements::intrusion(size_t dim, int64_t size) const {
  std::vector<std::string> names;
  for (const program::Param& p : scop_.params)
    names.push_back(p.name);
  for (const Between& b : between_) {
    const isl::map same_place = same_but(b.triples.ctx(), b.write->index.size(), dim,
                                         "a != b and (a - b) mod " + std::to_string(size) + " = 0");
    const isl::map pairs =
        elements(*b.write).apply_range(same_place).apply_range(elements(*b.other).reverse());
    isl::set triples = b.triples.intersect_range_factor_range(pairs).wrap().flatten();
    if (triples.is_empty())
      continue;
    Intrusion found;
    found.params = poly::first_point(poly::parameters_as_set(triples.params(), names));
    for (size_t k = 0; k < names.size(); ++k)
      triples = poly::fix_parameter(triples, names[k], found.params[k]);
    const std::vector<int64_t> at = poly::first_point(triples.project_out_all_params());
    auto next = at.begin();
    const auto take = [&](poly::StmtId id) {
      const auto count = static_cast<std::ptrdiff_t>(scop_[id].text.iters.size());
      std::vector<int64_t> part(next, next + count);
      next += count;
      return part;
    };
    found.writer = b.write->statement;
    found.reader = b.read->statement;
    found.intruder = b.other->statement;
    found.written_at = take(found.writer);
    found.read_at = take(found.reader);
    found.intrudes_at = take(found.intruder);
    found.element = element_of(*b.write, found.params, found.written_at);
    found.other = element_of(*b.other, found.params, found.intrudes_at);
    return found;
  }
  return std::nullopt;
}

} // namespace kawara::schedule
