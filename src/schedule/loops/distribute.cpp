#include "schedule/loops/distribute.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// A copy of a loop with the same name, marks and place in the text.
LoopId copied(Order& order, LoopId loop) {
  const poly::OrderLoop original = order[loop];
  const LoopId copy = poly::add_loop(order, original.name, original.where);
  order[copy] = original;
  return copy;
}

/// `statement` inside `loops`, outermost first.
TreeNode chain(const std::vector<LoopId>& loops, StmtId statement) {
  TreeNode node{statement, {}};
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    TreeNode around{*loop, {}};
    around.body.push_back(std::move(node));
    node = std::move(around);
  }
  return node;
}

} // namespace

Proposed propose(const Schedule& schedule, const Distribute& distribute, const Environment&) {
  const std::string request = request_of(distribute);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, distribute.loop, request));
  Order order = schedule.order;
  const std::vector<StmtId> below = poly::statements_below(order, loop);
  if (below.size() < 2)
    return fail(shape_refusal(kNothingToSeparate, request + ": it holds one statement only",
                              order[loop].where, "nothing to separate"));
  const size_t depth = *poly::depth_of(order, loop);
  std::vector<TreeNode> nests;
  std::set<LoopId> used;
  for (const StmtId statement : below) {
    std::vector<LoopId> path = poly::path_of(order, statement);
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth));
    // Each loop keeps its identity in the first nest that needs it.
    for (LoopId& id : path)
      if (!used.insert(id).second)
        id = copied(order, id);
    nests.push_back(chain(path, statement));
  }
  const Place place = place_of(order, loop);
  const auto at = place.sequence->begin() + static_cast<std::ptrdiff_t>(place.index);
  place.sequence->insert(place.sequence->erase(at), std::make_move_iterator(nests.begin()),
                         std::make_move_iterator(nests.end()));
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
