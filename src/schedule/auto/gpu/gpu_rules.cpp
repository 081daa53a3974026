#include "schedule/auto/gpu/gpu_rules.h"

#include "schedule/auto/gpu/plan.h"
#include "schedule/auto/rule/choose.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <bit>

namespace kawara::schedule {

using poly::Axis;
using poly::LoopId;
using poly::StmtId;

namespace {

/// Sums of fewer terms stay with one thread.
constexpr int64_t kSumForThreads = 256;
/// From here on one block is too slow: it reads about 100 GB/s, and another launch takes a
/// microsecond.
constexpr int64_t kSumForBlocks = 1 << 15;
/// Terms of a block's part.
constexpr int64_t kLeastSumOfBlock = 4096;
/// Terms of a shorter row stay with one thread.
constexpr int64_t kShortestRowOfBlock = 32;
/// Threads of a block whose iterations hold several nests.
constexpr int64_t kIterationsOfBlock = 128;

/// What a planner has bound step by step, each of them proved.
Candidate bound(std::string rule, StmtId covers, Schedule made) {
  return {std::move(rule), {covers}, {}, std::move(made)};
}

StmtId first_below(const Site& site) {
  return poly::statements_below(site.schedule().order, site.loop()).front();
}

/// The judge's word on the loop as a parallel one.
bool is_parallel_loop(const Site& site) {
  poly::Order order = site.schedule().order;
  order[site.loop()].marks.is_parallel = true;
  return std::holds_alternative<poly::Legal>(
      poly::judge(site.schedule().scop, order, site.environment().quota));
}

/// A temp that only this launch touches stays with its threads.
void keep_result(Schedule& schedule, StmtId update, uint32_t tensor,
                 const Environment& environment) {
  const program::Tensor& result = schedule.scop.tensors[tensor];
  if (result.role != program::Role::Temp)
    return;
  std::optional<LoopId> inner;
  for (const LoopId loop : poly::path_of(schedule.order, update))
    if (poly::is_block(schedule.order[loop].marks.axis))
      inner = loop;
  if (inner)
    apply_all(
        schedule,
        {StoreAt{result.name, {schedule.scop[update].text.name, schedule.order[*inner].name}}},
        environment);
}

std::optional<Product> gpu_product_of(const Site& site) {
  return site.nest() ? product_of(site.schedule(), *site.nest(), site.facts(), site.environment())
                     : std::nullopt;
}

FusedNests nests_around(const Site& site, const FusedNestFinder& find) {
  return fused_nests_around(site.schedule().order, site.loop(), find);
}

bool sums_alone(const Site& site) {
  const auto& nest = site.nest();
  return nest && nest->depth == 0 && nest->loops.size() == 1 && nest->statements.size() == 1 &&
         site.facts().is_reduction[0] && site.facts().extents[0] >= kSumForThreads;
}

} // namespace

void attention_in_one_pass(const Site& site, const Offer& offer) {
  Schedule made = site.schedule();
  if (bind_chain(made, site.environment()))
    offer(bound("attention in one pass", first_below(site), std::move(made)));
}

void products_of_few_rows(const Site& site, const Offer& offer) {
  const Schedule& schedule = site.schedule();
  const Environment& environment = site.environment();
  const auto found = site.nest() ? skinny_of(schedule, *site.nest(), environment) : std::nullopt;
  if (!found)
    return;
  const FusedNests around = nests_around(site, [&](const Nest& other) {
    return fused_nest_of(schedule, other, found->nest, found->result_loops());
  });
  Schedule made = schedule;
  if (!bind_skinny(made, *found, around.before, around.after, environment))
    return;
  keep_result(made, found->update(), schedule.scop[found->update()].text.tensor, environment);
  offer(bound("product of a few rows", found->update(), std::move(made)));
}

void gpu_products_in_parts(const Site& site, const Offer& offer) {
  const auto& found = site.form(gpu_product_of);
  const auto part =
      found ? part_of_reduction(site.schedule(), *found, site.environment()) : std::nullopt;
  if (!part)
    return;
  const FusedNests around = nests_around(
      site, [&](const Nest& other) { return fused_nest_of(site.schedule(), other, *found); });
  Schedule made = site.schedule();
  if (bind_product_in_parts(made, *found, *part, around.before, around.after, site.environment()))
    offer(bound("product with a split reduction", found->update(), std::move(made)));
}

void gpu_products(const Site& site, const Offer& offer) {
  const auto& found = site.form(gpu_product_of);
  if (!found)
    return;
  const Environment& environment = site.environment();
  const auto offer_with = [&](const FusedNests& around) {
    Schedule made = site.schedule();
    if (!bind_product(made, *found, around.before, around.after, environment))
      return false;
    keep_result(made, found->update(), found->result, environment);
    return offer(bound("product", found->update(), std::move(made)));
  };
  const FusedNests around = nests_around(
      site, [&](const Nest& other) { return fused_nest_of(site.schedule(), other, *found); });
  const bool may_fuse = !around.before.empty() || !around.after.empty();
  if (!may_fuse || !offer_with(around))
    offer_with({});
}

void rows_of_blocks(const Site& site, const Offer& offer) {
  if (const auto& nest = site.nest()) {
    const NestFacts& facts = site.facts();
    if (nest->loops.size() != 2 || !facts.is_parallel[0] || !facts.is_reduction[1] ||
        facts.extents[1] < kShortestRowOfBlock)
      return;
  } else if (!site.form(is_parallel_loop)) {
    return;
  }
  Schedule made = site.schedule();
  if (bind_rows(made, site.loop(), site.environment()))
    offer(bound("rows", first_below(site), std::move(made)));
}

void sum_by_blocks(const Site& site, const Offer& offer) {
  if (!sums_alone(site) || site.facts().extents[0] < kSumForBlocks)
    return;
  const Schedule& schedule = site.schedule();
  const StmtId sum = site.nest()->statements.front();
  const std::string& statement = schedule.scop[sum].text.name;
  const std::string& terms = schedule.order[site.loop()].name;
  const int64_t part = std::max(
      kLeastSumOfBlock, site.facts().extents[0] / site.environment().gpu->multiprocessors + 1);
  Candidate made{"sum in parts by blocks",
                 {sum},
                 {Split{{statement, terms}, part}, Rfactor{{statement, terms + ".0"}}}};
  made.finish = [sum, known = schedule.scop.statements.size()](Schedule& parts,
                                                               const Planner& plan) {
    for (const LoopId loop : child_loops(parts.order.body)) {
      const StmtId inside = poly::statements_below(parts.order, loop).front();
      if (inside == sum || inside.value >= known)
        plan(parts, Phase::Nests, loop, Around::Nothing);
    }
    return true;
  };
  offer(std::move(made));
}

void sum_by_threads(const Site& site, const Offer& offer) {
  if (!sums_alone(site))
    return;
  const StmtId sum = site.nest()->statements.front();
  const std::string& terms = site.schedule().order[site.loop()].name;
  const auto groups = static_cast<uint64_t>(site.facts().extents[0] / 4);
  const auto threads = std::clamp<int64_t>(static_cast<int64_t>(std::bit_floor(groups)), 32, 1024);
  GpuPlan plan(site.schedule().scop[sum].text.name);
  plan.split(terms, threads);
  plan.reorder({terms + ".1", terms + ".0"});
  plan.bind(terms + ".1", Axis::ThreadX);
  offer({"sum by the threads of a block", {sum}, plan.list()});
}

void transposes_in_shared_memory(const Site& site, const Offer& offer) {
  Schedule made = site.schedule();
  if (site.nest() && bind_transpose(made, *site.nest(), site.environment()))
    offer(bound("transpose through shared memory", first_below(site), std::move(made)));
}

void maps(const Site& site, const Offer& offer) {
  if (!site.nest())
    return;
  for (auto& plan : map_plans(site.schedule(), *site.nest(), site.facts(), *site.environment().gpu))
    if (offer({"map", site.nest()->statements, std::move(plan)}))
      return;
}

void iterations_as_threads(const Site& site, const Offer& offer) {
  if (site.nest() || !site.form(is_parallel_loop))
    return;
  const Schedule& schedule = site.schedule();
  const LoopName whole = name_of_loop(schedule.scop, schedule.order, site.loop());
  const LoopName blocks{whole.statement, whole.loop + ".0"},
      threads{whole.statement, whole.loop + ".1"};
  offer({"iterations as threads",
         {first_below(site)},
         {Split{whole, kIterationsOfBlock}, Bind{blocks, Axis::BlockX},
          Bind{threads, Axis::ThreadX}}});
}

} // namespace kawara::schedule
