#include "schedule/marks/prefetch.h"

#include "poly/accesses.h"
#include "schedule/buffers/staged_reads.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Further ahead, lines are gone again before they are used.
constexpr int64_t kFarthest = 64;

} // namespace

Proposed propose(const Schedule& schedule, const Prefetch& directive, const Environment&) {
  const std::string request =
      "cannot prefetch `" + directive.tensor + "` at loop " + quoted(directive.loop);
  KAWARA_TRY(const uint32_t tensor, resolve_tensor(schedule.scop, directive.tensor, request));
  KAWARA_TRY(const poly::LoopId loop, resolve_loop(schedule, directive.loop, request));
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  const Span where = schedule.order[loop].where;
  if (directive.ahead < 1 || directive.ahead > kFarthest)
    return fail(shape_refusal(
        kBadSize, request + ": it can look 1 to " + std::to_string(kFarthest) + " iterations ahead",
        where, "", {"It was " + std::to_string(directive.ahead) + "."}));
  const std::vector<poly::StmtId> below = poly::statements_below(schedule.order, loop);
  const auto all = poly::bare_accesses(schedule.scop);
  const bool is_touched = std::any_of(all.begin(), all.end(), [&](const poly::Access& a) {
    return a.tensor == tensor && std::find(below.begin(), below.end(), a.statement) != below.end();
  });
  if (!is_touched)
    return fail(shape_refusal(
        kNothingToPrefetch, request, where, "nothing to prefetch here",
        {"No statement below this loop reads or writes `" + directive.tensor + "`."}));
  poly::Order order = schedule.order;
  auto& prefetches = order[loop].marks.prefetches;
  std::erase_if(prefetches, [&](const poly::Prefetched& p) { return p.tensor == tensor; });
  prefetches.push_back({tensor, directive.ahead});
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
