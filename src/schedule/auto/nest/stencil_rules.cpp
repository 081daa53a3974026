#include "schedule/auto/nest/stencil_rules.h"

#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/nest/nest_loops.h"
#include "schedule/auto/nest/stencil.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {
namespace {

/// The site's nest as a small window.
std::optional<SmallWindow> window_at(const Site& site) {
  const Schedule& schedule = site.schedule();
  const NestLoops& loops = nest_loops(site);
  const Nest& nest = *site.nest();
  const NestFacts& facts = site.facts();
  const target::Cpu& cpu = site.environment().cpu;
  if (loops.columns)
    return std::nullopt;
  if (auto transposed = transposed_window(nest, facts, loops.lanes, cpu.vector_registers))
    return transposed;
  const auto columns = lanes_of_few_columns(schedule, nest, facts, cpu);
  const auto lanes = columns ? columns : window_lanes(schedule, nest, facts, loops.vector, cpu);
  return lanes ? small_window(schedule, nest, facts, *lanes, loops.lanes, cpu.cores,
                              cpu.vector_bytes >= cpu.caches.line)
               : std::nullopt;
}

} // namespace

void windows_with_epilogue(const Site& site, const Offer& offer) {
  const auto& window = site.form(window_at);
  if (!window)
    return;
  const Schedule& schedule = site.schedule();
  const auto [before, after] =
      fused_nests_around(schedule.order, site.loop(), [&](const Nest& other) {
        return fused_nest_of(schedule, other, *window);
      });
  if (before.empty() && after.empty())
    return;
  const poly::StmtId update = window->update();
  Candidate made{"window with epilogue", {update}, window_plan(schedule, *window, before, after)};
  made.finish = [&site, update, depth = site.nest()->depth,
                 makes_more = !after.empty()](Schedule& tiled, const Planner&) {
    const Environment& environment = site.environment();
    if (makes_more)
      apply_all(tiled, {keep_tile_in_registers(tiled, update)}, environment);
    const poly::LoopId shared = poly::path_of(tiled.order, update)[depth];
    if (site.may_be_parallel() && is_worth_threads(tiled, shared, environment))
      apply_all(tiled, {Parallel{name_of_loop(tiled.scop, tiled.order, shared)}}, environment);
    return true;
  };
  offer(std::move(made));
}

void windows_in_registers(const Site& site, const Offer& offer) {
  const NestLoops& loops = nest_loops(site);
  if (loops.kind != NestKind::Plain)
    return;
  const auto& window = site.form(window_at);
  if (!window)
    return;
  std::vector<Directive> plan = window_plan(site.schedule(), *window);
  if (loops.may_share)
    plan.emplace_back(Parallel{window->outer.empty() ? loop_name(site, window->lanes, ".0")
                               : window->rows == size_t{0}
                                   ? loop_name(site, window->outer.front(), ".0")
                                   : loop_name(site, window->outer.front())});
  offer({"window in registers", site.nest()->statements, std::move(plan)});
}

} // namespace kawara::schedule
