#include "schedule/marks/bind.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <array>

namespace kawara::schedule {
namespace {

using poly::Axis;
using poly::LoopId;
using poly::Order;
using poly::TreeNode;

std::vector<LoopId> enclosing_loops(const Order& order, LoopId loop) {
  std::vector<LoopId> around;
  for (auto at = parent_of(order, loop); at; at = parent_of(order, *at))
    around.push_back(*at);
  return around;
}

void add_loops_below(const TreeNode& node, std::vector<LoopId>& loops) {
  for (const TreeNode& child : node.body)
    if (child.is_loop()) {
      loops.push_back(child.loop());
      add_loops_below(child, loops);
    }
}

std::vector<LoopId> loops_inside(const Order& order, LoopId loop) {
  std::vector<LoopId> inside;
  add_loops_below(*poly::find_node(order, loop), inside);
  return inside;
}

/// The only node in the loop's body, when that is a loop.
std::optional<LoopId> only_child(const Order& order, LoopId loop) {
  const TreeNode& node = *poly::find_node(order, loop);
  return node.body.size() == 1 && node.body[0].is_loop() ? std::optional(node.body[0].loop())
                                                         : std::nullopt;
}

std::optional<std::string> misplaced_axis(const Order& order, LoopId loop, Axis axis) {
  const auto axis_of = [&](LoopId l) { return order[l].marks.axis; };
  const std::vector<LoopId> around = enclosing_loops(order, loop),
                            inside = loops_inside(order, loop);
  const auto has = [&](const std::vector<LoopId>& loops, bool (*is)(Axis)) {
    return std::any_of(loops.begin(), loops.end(), [&](LoopId l) { return is(axis_of(l)); });
  };
  const auto is_block_axis = [](Axis a) { return poly::is_block(a); };
  const auto is_thread_axis = [](Axis a) { return poly::is_thread(a); };
  if (poly::is_thread(axis))
    return has(inside, is_block_axis)
               ? std::optional("A loop inside it is bound to blocks, and blocks hold threads.")
               : std::nullopt;
  if (has(around, is_thread_axis))
    return "A loop around it is bound to threads, and blocks hold threads.";
  if (has(around, is_block_axis) &&
      (!poly::is_block(axis_of(around.front())) || !only_child(order, around.front())))
    return "Between it and the block loop around it stands something else; all block loops of a "
           "launch stand directly inside each other.";
  const auto child = only_child(order, loop);
  if (has(inside, is_block_axis) && !(child && poly::is_block(axis_of(*child))))
    return "Between it and the block loop inside it stands something else; all block loops of a "
           "launch stand directly inside each other.";
  return std::nullopt;
}

/// Threads of a block once `loop` has `threads` of them: the most on each axis, multiplied.
int64_t threads_of_block(const Order& order, LoopId loop, Axis axis, int64_t threads) {
  LoopId root = loop;
  for (const LoopId l : enclosing_loops(order, loop))
    if (order[l].marks.axis != Axis::None)
      root = l;
  std::vector<LoopId> all = loops_inside(order, root);
  all.push_back(root);
  std::array<int64_t, 3> most = {1, 1, 1};
  const auto count = [&](Axis a, int64_t n) {
    if (poly::is_thread(a))
      most[poly::position_of(a)] = std::max(most[poly::position_of(a)], n);
  };
  for (const LoopId l : all)
    count(order[l].marks.axis, order[l].marks.threads);
  count(axis, threads);
  return most[0] * most[1] * most[2];
}

std::optional<Refusal::Shape> refuse_threads(const Schedule& schedule, LoopId loop, Axis axis,
                                             const std::optional<int64_t>& threads,
                                             const std::string& request) {
  const std::string most = std::to_string(kMostThreads);
  const auto refused = [&](const std::string& why) {
    return shape_refusal(kTooManyThreads, request, schedule.order[loop].where, why,
                         {"A block has at most " + most +
                          " threads, and a number of them that "
                          "does not depend on sizes."});
  };
  if (!threads)
    return refused("its extent is not a constant");
  if (const int64_t all = threads_of_block(schedule.order, loop, axis, *threads);
      all > kMostThreads)
    return refused("its block would have " + std::to_string(all) + " threads");
  return std::nullopt;
}

} // namespace

Proposed propose(const Schedule& schedule, const Bind& bind, const Environment&) {
  const std::string request = request_of(bind);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, bind.loop, request));
  Order order = schedule.order;
  const std::vector<LoopId> unit = unit_of(order, loop);
  const poly::Marks& marks = order[loop].marks;
  if (marks.is_parallel || marks.vector_width != 0 || marks.unroll != 0 || marks.axis != Axis::None)
    return fail(shape_refusal(kAlreadyMarked, request + ": it has a mark already",
                              order[loop].where, "", {"A loop is run in one way only."}));
  for (const auto& others : {enclosing_loops(order, loop), loops_inside(order, loop)})
    for (const LoopId other : others)
      if (order[other].marks.axis == bind.axis)
        return fail(shape_refusal(
            kAxisTaken, request, order[loop].where,
            "loop `" + order[other].name + "` is bound to it",
            {"Loops that stand inside each other need an axis each, or coalesce them."}));
  if (const auto why = misplaced_axis(order, unit.back(), bind.axis))
    return fail(shape_refusal(kMisplacedBlock, request, order[loop].where, "", {*why}));
  std::optional<int64_t> threads;
  if (poly::is_thread(bind.axis)) {
    threads = 1;
    for (const LoopId part : unit) {
      const auto run = longest_run(schedule.scop, order, part);
      threads = run && threads ? std::optional(*threads * *run) : std::nullopt;
    }
    if (auto refused = refuse_threads(schedule, loop, bind.axis, threads, request))
      return fail(*std::move(refused));
  }
  for (const LoopId part : unit) {
    order[part].marks.axis = bind.axis;
    order[part].marks.threads = threads.value_or(0);
  }
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
