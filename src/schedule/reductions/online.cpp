#include "schedule/reductions/online.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/reductions/online_chain.h"
#include "schedule/reductions/online_rewrite.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;

namespace {

/// The loops in tree order, when they can become one.
Result<std::vector<LoopId>, Refusal::Shape> siblings(const Schedule& schedule, const Online& online,
                                                     const std::string& request) {
  Order order = schedule.order;
  std::vector<LoopId> loops;
  for (const LoopName& name : online.loops) {
    KAWARA_TRY(const LoopId loop, resolve_loop(schedule, name, request));
    if (std::find(loops.begin(), loops.end(), loop) != loops.end())
      return fail(shape_refusal(kNamedTwice, request + ": " + quoted(name) + " is named twice",
                                order[loop].where, "this loop"));
    if (auto refused = refuse_if_bound(order, loop, request))
      return fail(*std::move(refused));
    if (!loops.empty() && parent_of(order, loop) != parent_of(order, loops.front()))
      return fail(shape_refusal(
          kNotSiblings, request + ": they do not stand inside the same loops", order[loop].where,
          "has other loops around it",
          {"Loops can become one only when every loop around them is shared. Fuse those first; "
           "`distribute` and `interchange` bring a reduction loop outside of others."}));
    loops.push_back(loop);
  }
  std::sort(loops.begin(), loops.end(), [&](LoopId a, LoopId b) {
    return place_of(order, a).index < place_of(order, b).index;
  });
  return loops;
}

} // namespace

Proposed propose(const Schedule& schedule, const Online& online, const Environment& environment) {
  const std::string request = request_of(online);
  KAWARA_TRY(const std::vector<LoopId> loops, siblings(schedule, online, request));
  const Span where = schedule.order[loops.back()].where;
  if (schedule.scop.numerics == program::Numerics::Exact)
    return fail(shape_refusal(kNumericsForbid, request, where,
                              "would go on with values that are not final",
                              {"Corrected sums are rounded otherwise than in the source, and "
                               "`numerics exact` keeps every "
                               "floating-point operation.",
                               "Ask for `--numerics rounding` to let reductions be rearranged."}));
  const poly::Verdict verdict = poly::judge(schedule.scop, schedule.order, environment.quota);
  if (!std::holds_alternative<poly::Legal>(verdict))
    return fail(shape_refusal(kNoChain, request, where, "",
                              {"The order so far is not legal by itself, and `online` takes it as "
                               "the source. Take the directives before it out of the group."}));
  auto chain = find_chain(schedule, loops);
  if (!chain && chain.error().code == kNoChain)
    return fail(shape_refusal(kNoChain, request, where, "", {chain.error().why}));
  if (!chain)
    return fail(shape_refusal(
        chain.error().code, request, where, "would go on with values that are not final",
        {chain.error().why, "A sum can be corrected on the way when its terms are products of "
                            "`exp(b * (e - m))`, with m "
                            "the maximum or minimum over e, of finished results, and of what "
                            "depends on neither. Inline "
                            "what stands between, or keep the loops apart."}));
  return rewrite_online(schedule, *chain, !environment.gpu);
}

} // namespace kawara::schedule
