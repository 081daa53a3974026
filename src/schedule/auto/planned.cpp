#include "schedule/auto/planned.h"

#include "poly/legality/directions.h"
#include "schedule/attempt.h"
#include "schedule/auto/chunk/back_to_back.h"
#include "schedule/auto/chunk/conv_pool.h"
#include "schedule/auto/cost/order_cost.h"
#include "schedule/auto/cost/parallel_worth.h"
#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/auto/gpu/gpu.h"
#include "schedule/auto/nest/any_nest.h"
#include "schedule/auto/nest/gemv.h"
#include "schedule/auto/nest/indexed.h"
#include "schedule/auto/nest/isl_orders.h"
#include "schedule/auto/nest/outer_lanes.h"
#include "schedule/auto/nest/partial_tiles.h"
#include "schedule/auto/nest/tall_reduction.h"
#include "schedule/auto/product/amx_convolution.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/auto/product/instruction.h"
#include "schedule/auto/product/operand_layout.h"
#include "schedule/auto/product/product.h"
#include "schedule/auto/product/split_k.h"
#include "schedule/auto/rowwise/fuse_rows.h"
#include "schedule/auto/rowwise/one_pass.h"
#include "schedule/auto/rowwise/reduce_columns.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <functional>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;

namespace {

/// Improves an order nest by nest; every step is judged, a refused one is left out.
class Improver {
public:
  Improver(Schedule schedule, const Environment& environment, std::set<LoopId> done = {})
      : schedule_(std::move(schedule)), environment_(environment), done_(std::move(done)) {}

  Schedule improved() {
    for (const auto& chunks_of : {window_chunks, resident_products})
      while (const auto chunks = chunks_of(schedule_, environment_))
        if (!run_in_chunks(*chunks))
          break;
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && !perfect_nest_at(schedule_.order, loop) &&
          !run_in_strips(loop, true) && wants_distribution(schedule_, loop))
        distribute_all(schedule_, loop);
    plan_tall_reductions(true);
    for (const LoopId loop : child_loops(schedule_.order.body))
      tile_product(loop);
    plan_tall_reductions(false);
    schedule_ = with_walked_columns(std::move(schedule_), done_, environment_);
    share_rows();
    tile_windows(child_loops(schedule_.order.body), true);
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop))
        improve(loop, true);
    return schedule_;
  }

private:
  /// What a window or a product needs is made chunk by chunk; threads share these.
  bool run_in_chunks(const WindowChunks& chunks) {
    const Schedule before = schedule_;
    const bool has_parts = !chunks.in_parts.empty() && try_all(chunks.in_parts);
    if (!has_parts && (chunks.plan.empty() || !try_all(chunks.plan)))
      return false;
    const std::vector<LoopId> path = poly::path_of(schedule_.order, chunks.reader);
    const LoopId whole = path.front(), chunk = path[has_parts ? 1 : 0];
    if (!try_all({Parallel{name(whole)}})) {
      schedule_ = before;
      return false;
    }
    const auto inside = [&] { return child_loops(poly::find_node(schedule_.order, chunk)->body); };
    for (const LoopId loop : inside())
      if (!perfect_nest_at(schedule_.order, loop) && wants_distribution(schedule_, loop))
        distribute_all(schedule_, loop);
    std::vector<Directive> layouts;
    for (const LoopId loop : inside())
      if (const auto product =
              chunks.is_product ? std::nullopt : product_at(schedule_, loop, environment_))
        layouts = lanes_together(schedule_, chunks, *product, environment_);
    for (const LoopId loop : inside())
      tile_product(loop, true);
    try_all(layouts);
    tile_windows(inside(), false);
    for (const LoopId loop : inside())
      if (!done_.contains(loop))
        improve(loop, false);
    if (has_parts)
      try_all({Coalesce{name(whole), name(chunk)}});
    done_.insert(poly::path_of(schedule_.order, chunks.reader).front());
    return true;
  }

  /// Nests that follow each other get one outermost loop where one iteration's rows then stay in
  /// the cache from nest to nest, and temps between them only one row. From the last nest
  /// backwards: what a nest makes is used by some nest after it, not always by the next.
  void share_rows() {
    const std::vector<LoopId> loops = child_loops(schedule_.order.body);
    std::optional<LoopId> next;
    bool is_shared = false;
    const auto finish = [&] {
      if (next && is_shared)
        finish_rows(*next);
      is_shared = false;
    };
    for (auto at = loops.rbegin(); at != loops.rend(); ++at) {
      const LoopId loop = *at;
      if (done_.contains(loop) || !is_parallel(loop)) {
        finish();
        next.reset();
        continue;
      }
      if (next && schedule::share_rows(schedule_, loop, *next, environment_)) {
        const LoopName a = name(loop), b = name(*next);
        const StmtId inside = poly::statements_below(schedule_.order, loop).front();
        if (try_all({Fuse{a, b}, Parallel{a}})) {
          next = poly::path_of(schedule_.order, inside).front();
          // Only a question so far: the mark comes when all nests are together.
          schedule_.order[*next].marks.is_parallel = false;
          schedule_.applied.back() = Fuse{a, b};
          is_shared = true;
          continue;
        }
      }
      finish();
      next = loop;
    }
    finish();
  }

  void finish_rows(LoopId loop) {
    done_.insert(loop);
    const auto inside = [&] { return child_loops(poly::find_node(schedule_.order, loop)->body); };
    tile_windows(inside(), false);
    for (const std::string& temp : temps_of(schedule_, loop))
      try_all({StoreAt{temp, name(loop)}});
    join_sums(loop);
    for (const LoopId child : inside())
      if (!done_.contains(child))
        improve(child, false);
    for (const std::string& tensor : rows_from_memory(schedule_, loop, environment_))
      try_all({Prefetch{tensor, name(loop), 1}});
    if (is_worth_threads(schedule_, loop, environment_))
      try_all({Parallel{name(loop)}});
  }

  /// Sums of what the loop before them makes are added up there, where both run in lanes.
  void join_sums(LoopId around) {
    const std::vector<LoopId> loops = child_loops(poly::find_node(schedule_.order, around)->body);
    for (size_t at = 0; at + 1 < loops.size(); ++at) {
      const Schedule before = schedule_;
      size_t last = at;
      while (last + 1 < loops.size() && !done_.contains(loops[last + 1]) &&
             sums_row_of(schedule_, loops[at], loops[last + 1], environment_) &&
             try_all({Fuse{name(loops[at]), name(loops[last + 1])}}))
        ++last;
      if (last == at || done_.contains(loops[at]))
        continue;
      improve(loops[at], false);
      if (schedule_.order[loops[at]].marks.vector_width == 0)
        schedule_ = before;
      else
        done_.insert(loops[at]);
      at = last;
    }
  }

  bool is_parallel(LoopId loop) const {
    poly::Order order = schedule_.order;
    order[loop].marks.is_parallel = true;
    return std::holds_alternative<poly::Legal>(
        poly::judge(schedule_.scop, order, environment_.quota));
  }

  /// A product gets blocks, packed operands and register tiles, together with the nests around it
  /// that begin or finish its elements where that is possible.
  void tile_product(LoopId loop, bool is_inside = false) {
    // A fused nest of an earlier product is not where it was.
    if (poly::find_node(schedule_.order, loop) == nullptr)
      return;
    auto product = product_at(schedule_, loop, environment_);
    if (!product)
      return;
    product->is_inside = is_inside;
    // Where somebody asks why, what other nests get is tried as well.
    if (environment_.notes != nullptr)
      Improver(schedule_, environment_).improve(loop, !is_inside);
    if (tile_as_it_is(*product, loop))
      return;
    product->avoids_tiles = true;
    tile_as_it_is(*product, loop);
  }

  bool tile_as_it_is(const Product& product, LoopId loop) {
    const std::vector<std::pair<std::string, std::function<bool()>>> layouts{
        {"product in AMX tiles", [&] { return lay_out_left(product, with_tile_rows); }},
        {"product of groups", [&] { return lay_out_left(product, with_groups); }},
        {"product in f16 blocks", [&] { return sum_blocks_in_f16(product); }},
        {"product in wide elements", [&] { return lay_out_left(product, with_wide_elements); }},
        {"product with a split reduction", [&] { return share_reduction(product); }},
        {"product", [&] { return plan_product(product, loop); }}};
    for (const auto& [rule, plan] : layouts) {
      rule_ = rule;
      if ((!product.is_inside || rule == "product") && plan())
        return true;
    }
    return false;
  }

  /// Tall reductions keep all results in registers; what begins them goes before.
  void plan_tall_reductions(bool comes_first) {
    for (const LoopId loop : child_loops(schedule_.order.body))
      if (!done_.contains(loop) && may_be_tall_reduction(schedule_, loop))
        plan_tall_reductions(loop, comes_first);
  }

  void plan_tall_reductions(LoopId loop, bool comes_first) {
    const Schedule before = schedule_;
    const bool is_nest = perfect_nest_at(schedule_.order, loop).has_value();
    for (const LoopId part : is_nest ? std::vector{loop} : distribute_all(schedule_, loop)) {
      const StmtId sum = poly::statements_below(schedule_.order, part).front();
      const auto plan = tall_reduction_plan(schedule_, part, environment_, comes_first);
      if (plan.empty() || !attempt(schedule_, plan, environment_, "tall reduction", {sum}))
        continue;
      try_all(partials_in_tiles(schedule_, sum));
      const LoopId outermost = poly::path_of(schedule_.order, sum).front();
      done_.insert(outermost);
      if (is_worth_threads(schedule_, outermost, environment_))
        try_all({Parallel{name(outermost)}});
      return;
    }
    schedule_ = before;
  }

  /// An operand that cannot be packed is laid out for the instruction, or converted.
  bool lay_out_left(const Product& product, decltype(with_groups)& laid_out) {
    const auto grouped = laid_out(schedule_, product, environment_);
    if (!grouped)
      return false;
    Schedule before = std::exchange(schedule_, grouped->schedule);
    const bool is_planned = plan_product(grouped->product, grouped->root);
    if (!is_planned)
      schedule_ = std::move(before);
    return is_planned;
  }

  /// Where the result has too few tiles for all threads, each of them adds up a part of the
  /// reduction.
  bool share_reduction(const Product& product) {
    const auto split = reduction_split(schedule_, product, environment_);
    if (!split)
      return false;
    const Schedule before = schedule_;
    const StmtId update = product.update();
    const std::string& statement = schedule_.scop[update].text.name;
    const std::string parts = schedule_.order[split->loop].name + ".0";
    if (!try_all({Split{{statement, schedule_.order[split->loop].name}, split->size},
                  Rfactor{{statement, parts}}}))
      return false;
    const LoopId root = poly::path_of(schedule_.order, update).front();
    const auto shared = product_in_parts(schedule_, root, parts, environment_);
    if (shared && plan_product(*shared, root))
      return true;
    schedule_ = before;
    return false;
  }

  /// Products of f16 are added up in f16 over a block of the reduction, the blocks in f32.
  bool sum_blocks_in_f16(const Product& product) {
    if (!gains_from_f16_sums(schedule_, product, environment_))
      return false;
    const Schedule before = schedule_;
    const StmtId update = product.update();
    const std::string& statement = schedule_.scop[update].text.name;
    const std::string loop = schedule_.order[product.nest.loops[deepest_of(product)]].name;
    if (!try_all({Split{{statement, loop}, f16_block(product)},
                  Rfactor{{statement, loop + ".0"}, scalar::Elem::F16}}))
      return false;
    const LoopId root = poly::path_of(schedule_.order, update).front();
    auto blocks = product_at(schedule_, root, environment_);
    if (blocks && combine_along(schedule_, *blocks, loop + ".0") &&
        runs_as_instruction(schedule_, *blocks, environment_) && plan_product(*blocks, root))
      return true;
    schedule_ = before;
    return false;
  }

  bool plan_product(Product product, LoopId loop) {
    auto [before, after] = fused_nests_around(schedule_.order, loop, [&](const Nest& nest) {
      return fused_nest_of(schedule_, nest, product);
    });
    if (product.combined && before.size() == 1 && !after.empty())
      if (const auto start = start_of(schedule_, before.front(), after.front()))
        before.push_back(*start);
    product.has_epilogue = !after.empty();
    if (!runs_in_one_go(schedule_, product, environment_)) {
      before.clear();
      after.clear();
    }
    for (const bool has_fused_nests : {true, false}) {
      if (has_fused_nests && before.empty() && after.empty())
        continue;
      if (!has_fused_nests) {
        before.clear();
        after.clear();
      }
      if (!apply_product_plan(product, before, after))
        continue;
      done_.insert(poly::path_of(schedule_.order, product.update())[product.nest.depth]);
      if (!after.empty())
        try_all({keep_tile_in_registers(schedule_, product.update())});
      return true;
    }
    return false;
  }

  bool apply_product_plan(const Product& product, const std::vector<FusedNest>& before,
                          const std::vector<FusedNest>& after) {
    const std::string rule = rule_ + (after.empty() ? "" : " with epilogue");
    if (attempt(schedule_, product_plan(schedule_, product, before, after, environment_, true),
                environment_, rule, {product.update()}))
      return true;
    if (!shares_one_loop(schedule_, product, environment_))
      return false;
    Product other = product;
    other.avoids_one_loop = true;
    return attempt(schedule_, product_plan(schedule_, other, before, after, environment_, true),
                   environment_, rule + " in two loops", {product.update()});
  }

  /// The results of small windows start where they are added up, and what is made of them follows
  /// there.
  void tile_windows(const std::vector<LoopId>& siblings, bool may_be_parallel) {
    for (const LoopId loop : siblings)
      if (!done_.contains(loop) && poly::find_node(schedule_.order, loop) != nullptr)
        tile_window(loop, may_be_parallel);
  }

  void tile_window(LoopId loop, bool may_be_parallel) {
    const auto nest = perfect_nest_at(schedule_.order, loop);
    const auto window = nest ? window_of(schedule_, *nest, environment_) : std::nullopt;
    if (!window)
      return;
    const auto [before, after] = fused_nests_around(schedule_.order, loop, [&](const Nest& other) {
      return fused_nest_of(schedule_, other, *window);
    });
    if ((before.empty() && after.empty()) ||
        !attempt(schedule_, window_plan(schedule_, *window, before, after), environment_,
                 "window with epilogue", {window->update()}))
      return;
    const LoopId shared = poly::path_of(schedule_.order, window->update())[nest->depth];
    done_.insert(shared);
    if (!after.empty())
      try_all({keep_tile_in_registers(schedule_, window->update())});
    if (may_be_parallel && is_worth_threads(schedule_, shared, environment_))
      try_all({Parallel{name(shared)}});
  }

  void improve(LoopId loop, bool may_be_parallel) {
    const auto nest = perfect_nest_at(schedule_.order, loop);
    if (nest && !writes_in_turn(schedule_, *nest)) {
      improve_nest(*nest, may_be_parallel);
      return;
    }
    // A loop of one iteration keeps nothing together.
    if (nest || wants_distribution(schedule_, loop) ||
        longest_run(schedule_.scop, schedule_.order, loop) == 1) {
      const std::vector<LoopId> parts = distribute_all(schedule_, loop);
      if (parts.size() > 1) {
        for (const LoopId part : parts)
          improve(part, may_be_parallel);
        return;
      }
    }
    if (nest) {
      improve_nest(*nest, may_be_parallel);
      return;
    }
    Schedule before = schedule_;
    const bool is_parallel = may_be_parallel && try_all({Parallel{name(loop)}});
    if (const auto stores = private_temps(schedule_, loop); !stores.empty())
      try_all(stores);
    for (const LoopId child : child_loops(poly::find_node(schedule_.order, loop)->body))
      improve(child, may_be_parallel && !is_parallel);
    if (may_be_parallel && !runs_in_lanes(schedule_.order, loop)) {
      std::swap(schedule_, before);
      if (!run_in_strips(loop, false))
        std::swap(schedule_, before);
    }
  }

  bool run_in_strips(LoopId loop, bool takes_steps) {
    auto strips = in_strips(schedule_, loop, environment_, takes_steps);
    if (strips) {
      schedule_ = std::move(strips->schedule);
      done_.insert(strips->outermost);
    }
    return strips.has_value();
  }

  void improve_nest(const Nest& nest, bool may_be_parallel, bool is_shared = false) {
    const NestFacts facts = facts_of(schedule_, nest);
    if (may_be_parallel && !is_shared)
      if (const auto split = reduction_split(schedule_, nest, facts, environment_))
        if (const auto shared = share_sum(nest, *split))
          return improve_nest(*shared, true, true);
    std::vector<NestPlan> plans = plans_for(schedule_, nest, facts, environment_, may_be_parallel);
    if (auto dots = dots_plan(schedule_, nest, facts, environment_, may_be_parallel); !dots.empty())
      plans.insert(plans.begin(), {"dot products", std::move(dots)});
    // Where somebody asks why, the others are tried as well.
    const auto before = environment_.notes != nullptr ? std::optional(schedule_) : std::nullopt;
    for (const auto& [rule, plan] : plans) {
      if (!attempt(schedule_, plan, environment_, rule, nest.statements))
        continue;
      for (size_t k = 0; before && k < plans.size(); ++k)
        if (Schedule other = *before; plans[k].directives != plan)
          attempt(other, plans[k].directives, environment_, plans[k].rule, nest.statements);
      return;
    }
  }

  /// The nest with its reduction in parts, those outermost.
  std::optional<Nest> share_sum(const Nest& nest, const ReductionSplit& split) {
    const StmtId update = nest.statements.front();
    const Schedule before = schedule_;
    if (try_all(sum_in_parts(schedule_, nest, split)))
      if (auto shared =
              perfect_nest_at(schedule_.order, poly::path_of(schedule_.order, update)[nest.depth]))
        return shared;
    schedule_ = before;
    return std::nullopt;
  }

  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }

  /// All of the directives or none.
  bool try_all(const std::vector<Directive>& plan) {
    auto result = apply(schedule_, Group{plan}, environment_);
    if (!result)
      return false;
    schedule_ = *std::move(result);
    return true;
  }

  Schedule schedule_;
  const Environment& environment_;
  std::set<LoopId> done_; ///< outermost loops that need no more
  std::string rule_;      ///< of the product that is planned
};

Schedule improved(Schedule start, const Environment& environment) {
  return Improver(std::move(start), environment).improved();
}

} // namespace

Schedule planned(const Schedule& schedule, const Environment& environment) {
  if (environment.gpu) {
    return gpu_schedule(schedule, environment);
  }
  if (auto indexed = indexed_schedule(schedule, environment))
    return *std::move(indexed);
  if (auto chain = one_pass(schedule, environment)) {
    Schedule whole =
        Improver(std::move(chain->schedule), environment, std::move(chain->done)).improved();
    if (is_legal(whole, environment)) {
      return whole;
    }
  }
  Schedule best = improved(schedule, environment);
  if (!is_legal(best, environment))
    best = schedule;
  for (const bool prefers_parallel : {true, false}) {
    if (has_packed(best))
      break;
    const auto fused = fused_schedule(schedule, prefers_parallel, environment);
    if (!fused)
      continue;
    Schedule other = improved(*fused, environment);
    if (estimated_cost(other, environment) < estimated_cost(best, environment) &&
        is_legal(other, environment))
      best = std::move(other);
  }
  return best;
}

} // namespace kawara::schedule
