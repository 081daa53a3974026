#include "schedule/loops/tile.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/loops/split.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;

namespace {

/// Another loop stands between the listed ones: bring those together first.
Refusal::Shape other_loop_between(const Schedule& schedule, const Tile& tile,
                                  const std::vector<LoopId>& nest,
                                  const std::vector<LoopId>& listed, const std::string& request) {
  std::vector<LoopName> wanted;
  for (const auto& [name, size] : tile.loops)
    wanted.push_back(name);
  const Order& order = schedule.order;
  std::optional<LoopId> other;
  for (const LoopId loop : nest) {
    if (order[loop].is_coalesced_into_parent ||
        std::find(listed.begin(), listed.end(), loop) != listed.end())
      continue;
    if (!other)
      other = loop;
    wanted.push_back(name_of_loop(schedule.scop, order, loop));
  }
  const std::string name = quoted(name_of_loop(schedule.scop, order, *other));
  Refusal::Shape refusal = shape_refusal(
      kImperfectNest, request, order[*other].where, "stands between them",
      {"Loop " + name + " stands between the loops to tile; name it as well, or move it away."});
  refusal.ways_out.push_back({Reorder{wanted}, tile});
  return refusal;
}

} // namespace

Proposed propose(const Schedule& schedule, const Tile& tile, const Environment&) {
  const std::string request = request_of(tile);
  std::vector<LoopId> loops;
  for (const auto& [name, size] : tile.loops) {
    KAWARA_TRY(const LoopId loop, resolve_loop(schedule, name, request));
    if (size < 1)
      return fail(shape_refusal(
          kBadSize, request + ": a size must be at least 1", schedule.order[loop].where, "",
          {"The size of " + quoted(name) + " was " + std::to_string(size) + "."}));
    if (auto refused = refuse_if_bound(schedule.order, loop, request))
      return fail(*std::move(refused));
    loops.push_back(loop);
  }
  if (loops.empty())
    return fail(shape_refusal(kBadSize, "cannot tile without a loop"));
  KAWARA_TRY(const std::vector<LoopId> nest, perfect_nest(schedule, loops, tile, request));
  if (nest.size() != loops.size())
    return fail(other_loop_between(schedule, tile, nest, loops, request));

  Order order = schedule.order;
  std::vector<SplitLoops> made(loops.size());
  std::vector<LoopId> split_nest;
  for (const LoopId loop : nest) {
    const size_t at =
        static_cast<size_t>(std::find(loops.begin(), loops.end(), loop) - loops.begin());
    made[at] = split_in_place(order, loop, tile.loops[at].second);
    order[made[at].points].marks.is_isolated = true;
    split_nest.push_back(made[at].tiles);
    split_nest.push_back(made[at].points);
  }
  std::vector<LoopId> tiled;
  for (const SplitLoops& s : made)
    tiled.push_back(s.tiles);
  for (const SplitLoops& s : made)
    tiled.push_back(s.points);
  return with_order(schedule, with_nest_permuted(std::move(order), split_nest, tiled));
}

} // namespace kawara::schedule
