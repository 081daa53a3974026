#include "schedule/auto/facts/distribution.h"

#include "poly/legality/directions.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/tree/arrangement.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;

namespace {

using Edges = std::vector<std::vector<bool>>;

/// Which children of the loop must run before which, over all iterations of the loop.
Edges edges_between(const Scop& scop, const Order& order, const TreeNode& node, size_t depth) {
  const size_t n = node.body.size();
  std::vector<std::set<StmtId>> below(n);
  for (size_t k = 0; k < n; ++k)
    for (const StmtId id : poly::statements_below(node.body[k]))
      below[k].insert(id);
  Edges edges(n, std::vector<bool>(n, false));
  for (const poly::Dependence& d : scop.dependences) {
    if (d.is_reduction && scop.numerics != program::Numerics::Exact)
      continue;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        if (a != b && !edges[a][b] && below[a].count(d.source) && below[b].count(d.sink))
          edges[a][b] = !poly::tied_above(scop, order, d, depth).is_empty();
  }
  return edges;
}

/// Reachability: who must come before whom, directly or through others.
Edges closed(Edges edges) {
  const size_t n = edges.size();
  for (size_t k = 0; k < n; ++k)
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b)
        edges[a][b] = edges[a][b] || (edges[a][k] && edges[k][b]);
  return edges;
}

/// Children grouped by mutual dependence, groups in an order that respects the edges and otherwise
/// the text.
std::vector<std::vector<size_t>> groups_of(const Edges& reach) {
  const size_t n = reach.size();
  std::vector<std::vector<size_t>> groups;
  std::vector<bool> done(n, false);
  const auto is_ready = [&](size_t a) {
    for (size_t b = 0; b < n; ++b)
      if (!done[b] && reach[b][a] && !reach[a][b])
        return false;
    return true;
  };
  while (std::find(done.begin(), done.end(), false) != done.end())
    for (size_t a = 0; a < n; ++a) {
      if (done[a] || !is_ready(a))
        continue;
      std::vector<size_t> group;
      for (size_t b = 0; b < n; ++b)
        if (b == a || (reach[a][b] && reach[b][a]))
          group.push_back(b);
      for (const size_t b : group)
        done[b] = true;
      groups.push_back(std::move(group));
      break;
    }
  return groups;
}

} // namespace

Distributed distributed_at(const Scop& scop, const Order& order, LoopId loop) {
  const TreeNode node = *poly::find_node(order, loop);
  const auto groups =
      groups_of(closed(edges_between(scop, order, node, *poly::depth_of(order, loop))));
  Distributed result{order, {}};
  if (groups.size() < 2) {
    result.loops.push_back(loop);
    return result;
  }
  std::vector<TreeNode> nests;
  for (size_t g = 0; g < groups.size(); ++g) {
    LoopId id = loop;
    if (g > 0) {
      id = poly::add_loop(result.order, order[loop].name, order[loop].where);
      result.order[id] = order[loop];
    }
    TreeNode nest{id, {}};
    for (const size_t child : groups[g])
      nest.body.push_back(node.body[child]);
    result.loops.push_back(id);
    nests.push_back(std::move(nest));
  }
  const Place place = place_of(result.order, loop);
  const auto at = place.sequence->begin() + static_cast<std::ptrdiff_t>(place.index);
  place.sequence->insert(place.sequence->erase(at), nests.begin(), nests.end());
  return result;
}

namespace {

std::vector<LoopId> distribute_below(const Scop& scop, Order& order, LoopId loop) {
  for (const LoopId child : child_loops(poly::find_node(order, loop)->body))
    distribute_below(scop, order, child);
  Distributed parts = distributed_at(scop, order, loop);
  order = std::move(parts.order);
  return parts.loops;
}

/// Each statement got a nest of its own, in the order that they had.
bool is_whole_distribution(const Order& before, LoopId loop, const Arrange& made) {
  const std::vector<StmtId> below = poly::statements_below(before, loop);
  for (size_t k = 0; k < made.statements.size(); ++k) {
    const std::vector<int64_t>& places = made.statements[k].places;
    if (places.front() != static_cast<int64_t>(k) ||
        std::any_of(places.begin() + 1, places.end(), [](int64_t place) { return place != 0; }))
      return false;
  }
  return made.statements.size() == below.size();
}

} // namespace

void put_distributed(Schedule& schedule, LoopId loop, Order order) {
  const Arrange made = arrangement_below(schedule.scop, schedule.order, loop, order);
  const bool keeps_order = std::equal(made.statements.begin(), made.statements.end(),
                                      poly::statements_below(schedule.order, loop).begin(),
                                      [&](const ArrangedStatement& s, StmtId id) {
                                        return s.statement == schedule.scop[id].text.name;
                                      });
  if (keeps_order && is_whole_distribution(schedule.order, loop, made))
    schedule.applied.push_back(Distribute{name_of_loop(schedule.scop, schedule.order, loop)});
  else
    schedule.applied.push_back(made);
  schedule.order = std::move(order);
}

std::vector<LoopId> distribute_all(Schedule& schedule, LoopId loop) {
  Order order = schedule.order;
  std::vector<LoopId> parts = distribute_below(schedule.scop, order, loop);
  const auto names = poly::names_of_statements(schedule.scop);
  if (poly::print(order, names) != poly::print(schedule.order, names))
    put_distributed(schedule, loop, std::move(order));
  return parts;
}

bool wants_distribution(const Schedule& schedule, LoopId loop) {
  const size_t depth = *poly::depth_of(schedule.order, loop);
  for (const StmtId id : poly::statements_below(schedule.order, loop)) {
    const size_t rows = schedule.order.rows[id.value].size();
    if (rows < depth + 2)
      continue;
    const AccessTable table = access_table(schedule.scop, schedule.order, id);
    const auto strides = [&](size_t k) { return strides_along(table, k); };
    const Strides innermost = strides(rows - 1);
    for (size_t k = depth; k + 1 < rows; ++k)
      if (strides(k).far < innermost.far && strides(k).far_writes <= innermost.far_writes)
        return true;
    if (rows >= depth + 3 && innermost.writes_same_element)
      return true;
  }
  return false;
}

bool writes_in_turn(const Schedule& schedule, const Nest& nest) {
  const auto& first = schedule.scop[nest.statements.front()].text;
  return nest.statements.size() > 1 &&
         std::all_of(nest.statements.begin(), nest.statements.end(), [&](poly::StmtId id) {
           const auto& text = schedule.scop[id].text;
           return text.op == scalar::ReduceOp::None && text.tensor == first.tensor &&
                  std::equal(text.index.begin(), text.index.end(), first.index.begin(),
                             first.index.end(), scalar::equal);
         });
}

} // namespace kawara::schedule
