#include "schedule/auto/chunk/chunk_rules.h"

#include "schedule/auto/chunk/back_to_back.h"
#include "schedule/auto/chunk/conv_pool.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;

namespace {

/// Threads share the chunks; what is in one is planned for its own. `has_parts`: the chunks stand
/// in a loop over parts of another dimension.
bool plan_inside(Schedule& schedule, const WindowChunks& chunks, bool has_parts,
                 const Environment& environment, const Planner& plan) {
  const std::vector<LoopId> path = poly::path_of(schedule.order, chunks.reader);
  const LoopId whole = path.front(), chunk = path[has_parts ? 1 : 0];
  const auto name = [&](LoopId loop) { return name_of_loop(schedule.scop, schedule.order, loop); };
  const auto inside = [&] { return child_loops(poly::find_node(schedule.order, chunk)->body); };
  if (!apply_all(schedule, {Parallel{name(whole)}}, environment))
    return false;
  for (const LoopId loop : inside())
    if (!perfect_nest_at(schedule.order, loop) && wants_distribution(schedule, loop))
      distribute_all(schedule, loop);
  std::vector<Directive> layouts;
  for (const LoopId loop : inside())
    if (const auto product =
            chunks.is_product ? std::nullopt : product_at(schedule, loop, environment))
      layouts = lanes_together(schedule, chunks, *product, environment);
  const auto plan_all = [&](Phase phase) {
    for (const LoopId loop : inside())
      plan(schedule, phase, loop, Around::Threads);
  };
  plan_all(Phase::Products);
  apply_all(schedule, layouts, environment);
  plan_all(Phase::Windows);
  plan_all(Phase::Nests);
  if (has_parts)
    apply_all(schedule, {Coalesce{name(whole), name(chunk)}}, environment);
  return true;
}

void offer_chunks(const Site& site, const std::string& rule,
                  const std::optional<WindowChunks>& chunks, const Offer& offer) {
  if (!chunks)
    return;
  const Environment& environment = site.environment();
  const auto candidate = [&](bool has_parts) {
    Candidate made{rule, {chunks->reader}, has_parts ? chunks->in_parts : chunks->plan};
    made.finish = [chunks = *chunks, has_parts, &environment](Schedule& schedule,
                                                              const Planner& plan) {
      return plan_inside(schedule, chunks, has_parts, environment, plan);
    };
    return made;
  };
  for (const bool has_parts : {true, false})
    if (!(has_parts ? chunks->in_parts : chunks->plan).empty() && offer(candidate(has_parts)))
      return;
}

} // namespace

void windows_in_chunks(const Site& site, const Offer& offer) {
  offer_chunks(site, "window in chunks", window_chunks(site.schedule(), site.environment()), offer);
}

void products_in_chunks(const Site& site, const Offer& offer) {
  offer_chunks(site, "products in chunks", resident_products(site.schedule(), site.environment()),
               offer);
}

} // namespace kawara::schedule
