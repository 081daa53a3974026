#include "tune/space/nest_rules.h"

#include "schedule/auto/facts/vector_loop.h"

#include <algorithm>
#include <set>

namespace kawara::tune {

namespace {

using namespace schedule;

/// Sizes to begin with; the search turns them.
constexpr int64_t kBlock = 64;
constexpr int64_t kDepth = 128;
constexpr int64_t kRows = 4;

} // namespace

LoopName part_of(LoopName loop, const char* suffix) {
  loop.loop += suffix;
  return loop;
}

void append(DirectiveList& list, DirectiveList more) {
  for (Directive& directive : more)
    list.push_back(std::move(directive));
}

NestRules::NestRules(const Structure& structure, const KnownNest& nest,
                     const Environment& environment)
    : structure_(structure), nest_(nest), facts_(nest.facts), environment_(environment) {
  const auto& scop = structure.schedule.scop;
  int64_t bytes = 1;
  for (const poly::StmtId id : nest.nest.statements)
    bytes = std::max(
        bytes, scalar::bytes_of(scalar::compute_type(scop.tensors[scop[id].text.tensor].elem)));
  lanes_ = std::max<int64_t>(2, target::vector_lanes(environment.cpu, bytes));
}

DirectiveList NestRules::lanes() const {
  const auto v = along_memory();
  return v ? lanes_along(*v) : DirectiveList{};
}

DirectiveList NestRules::tiles() const {
  const auto v = along_memory();
  if (!v || size() - facts_.fixed < 2)
    return {};
  DirectiveList list;
  Reorder order, inner;
  for (size_t k = facts_.fixed; k < size(); ++k) {
    if (k == *v)
      continue;
    list.push_back(Split{name(k), std::min<int64_t>(kBlock, facts_.extents[k])});
    order.loops.push_back(part_of(name(k), ".0"));
    inner.loops.push_back(part_of(name(k), ".1"));
  }
  list.push_back(Split{name(*v), 4 * lanes_ * 4});
  order.loops.push_back(part_of(name(*v), ".0"));
  order.loops.insert(order.loops.end(), inner.loops.begin(), inner.loops.end());
  order.loops.push_back(part_of(name(*v), ".1"));
  const LoopName outermost = order.loops.front();
  list.push_back(std::move(order));
  list.push_back(Vectorize{part_of(name(*v), ".1"), 2 * lanes_});
  if (is_parallel_after(facts_.fixed == *v ? facts_.fixed + 1 : facts_.fixed))
    list.push_back(Parallel{outermost});
  return list;
}

DirectiveList NestRules::levels(bool is_packed) const {
  const auto v = along_memory();
  const auto r = row_loop();
  const auto k = depth_loop();
  if (!v || !r || !k || nest_.nest.statements.size() != 1)
    return {};
  DirectiveList list{Split{name(*v), 8 * 3 * lanes_}, Split{name(*r), kBlock},
                     Split{part_of(name(*v), ".1"), 3 * lanes_},
                     Split{part_of(name(*r), ".1"), kRows},
                     Split{name(*k), std::min(kDepth, std::max<int64_t>(1, facts_.extents[*k]))}};
  Reorder order;
  for (size_t q = facts_.fixed; q < size(); ++q)
    if (q != *v && q != *r && !facts_.strides[q].writes_same_element)
      order.loops.push_back(name(q));
  const LoopName spread = order.loops.empty() ? part_of(name(*r), ".0") : order.loops.front();
  const LoopName blocks[] = {part_of(name(*v), ".0"), part_of(name(*k), ".0"),
                             part_of(name(*r), ".0"), part_of(name(*v), ".1.0"),
                             part_of(name(*r), ".1.0")};
  order.loops.insert(order.loops.end(), std::begin(blocks), std::end(blocks));
  for (size_t q = facts_.fixed; q < size(); ++q)
    if (facts_.strides[q].writes_same_element && q != *v && q != *r)
      order.loops.push_back(q == *k ? part_of(name(q), ".1") : name(q));
  order.loops.push_back(part_of(name(*r), ".1.1"));
  order.loops.push_back(part_of(name(*v), ".1.1"));
  list.push_back(std::move(order));
  if (is_packed)
    append(list, packs(*v, *r, *k));
  list.push_back(Unroll{part_of(name(*r), ".1.1"), std::nullopt});
  list.push_back(Vectorize{part_of(name(*v), ".1.1"), lanes_});
  list.push_back(Unroll{part_of(name(*v), ".1.1"), std::nullopt});
  if (nest_.is_outermost)
    list.push_back(Parallel{spread});
  return list;
}

DirectiveList NestRules::partial(bool for_threads) const {
  const auto k = depth_loop();
  if (!k || facts_.extents[*k] < 2 * lanes_)
    return {};
  const LoopName whole = name(*k);
  if (for_threads)
    return {Split{whole, std::max<int64_t>(1, facts_.extents[*k] / environment_.cpu.cores)},
            Rfactor{part_of(whole, ".0")}, Parallel{part_of(whole, ".0")}};
  DirectiveList list;
  if (*k + 1 != size()) {
    Reorder order;
    for (size_t q = facts_.fixed; q < size(); ++q)
      if (q != *k)
        order.loops.push_back(name(q));
    order.loops.push_back(whole);
    list.push_back(std::move(order));
  }
  append(list,
         {Split{whole, 4 * lanes_}, Rfactor{part_of(whole, ".1")},
          Vectorize{part_of(whole, ".1"), lanes_}, Unroll{part_of(whole, ".1"), std::nullopt}});
  return list;
}

/// The loop that runs best in lanes: most neighbours, fewest jumps.
std::optional<size_t> NestRules::along_memory() const {
  std::optional<size_t> best;
  const auto worth = [&](size_t k) { return schedule::lane_worth(facts_.strides[k]); };
  for (size_t k = facts_.fixed; k < size(); ++k)
    if ((facts_.is_parallel[k] || facts_.is_reduction[k]) && facts_.extents[k] >= 2)
      if (!best || worth(k) >= worth(*best))
        best = k;
  return best;
}

/// A parallel loop besides the lanes along which an operand stays: it can be kept in registers.
std::optional<size_t> NestRules::row_loop() const {
  const auto v = along_memory();
  std::optional<size_t> best;
  for (size_t k = facts_.fixed; k < size(); ++k)
    if (k != v.value_or(size()) && facts_.is_parallel[k] && facts_.strides[k].none > 0 &&
        !facts_.strides[k].writes_same_element &&
        (!best || facts_.extents[k] > facts_.extents[*best]))
      best = k;
  return best;
}

std::optional<size_t> NestRules::depth_loop() const {
  std::optional<size_t> best;
  for (size_t k = facts_.fixed; k < size(); ++k)
    if (facts_.strides[k].writes_same_element && facts_.is_reduction[k] &&
        (!best || facts_.extents[k] > facts_.extents[*best]))
      best = k;
  return best;
}

DirectiveList NestRules::lanes_along(size_t v) const {
  DirectiveList list;
  if (v + 1 != size()) {
    Reorder order;
    for (size_t k = facts_.fixed; k < size(); ++k)
      if (k != v)
        order.loops.push_back(name(k));
    order.loops.push_back(name(v));
    list.push_back(std::move(order));
  }
  list.push_back(Vectorize{name(v), 2 * lanes_});
  for (size_t k = 0; k < size(); ++k)
    if (k != v && is_parallel_after(k)) {
      list.push_back(Parallel{name(k)});
      break;
    }
  return list;
}

DirectiveList NestRules::packs(size_t v, size_t r, size_t k) const {
  const auto& text = structure_.schedule.scop[nest_.nest.statements.front()].text;
  DirectiveList list;
  std::set<uint32_t> seen{text.tensor};
  for (const schedule::LoopAccess& access : facts_.accesses) {
    if (access.statement != nest_.nest.statements.front() || !seen.insert(access.tensor).second)
      continue;
    const std::string& tensor = structure_.schedule.scop.tensors[access.tensor].name;
    if (access.stays(r) && !access.stays(v))
      list.push_back(Pack{tensor, part_of(name(k), ".0")});
    else if (access.stays(v) && !access.stays(r))
      list.push_back(Pack{tensor, part_of(name(r), ".0")});
  }
  return list;
}

DirectiveList NestRules::blocks(size_t depth) const {
  const auto v = along_memory();
  if (!v || facts_.fixed > 0 || size() < depth)
    return {};
  DirectiveList list;
  Reorder order, inner;
  for (size_t k = 0; k < size(); ++k) {
    if (k >= depth) {
      if (k != *v)
        inner.loops.push_back(name(k));
      continue;
    }
    list.push_back(Split{name(k), std::min(k == *v ? kBlock * lanes_ : kBlock,
                                           std::max<int64_t>(1, facts_.extents[k]))});
    order.loops.push_back(part_of(name(k), ".0"));
    if (k != *v)
      inner.loops.push_back(part_of(name(k), ".1"));
  }
  const LoopName lane = *v < depth ? part_of(name(*v), ".1") : name(*v);
  order.loops.insert(order.loops.end(), inner.loops.begin(), inner.loops.end());
  order.loops.push_back(lane);
  list.push_back(std::move(order));
  list.push_back(Vectorize{lane, 2 * lanes_});
  return list;
}

} // namespace kawara::tune
