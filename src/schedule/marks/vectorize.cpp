#include "schedule/marks/vectorize.h"

#include "poly/legality/legality.h"
#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/innermost.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::TreeNode;

namespace {

constexpr int64_t kMostLanes = 1024;

/// The loops from `loop` down to the first statement that has loops around it inside `loop`, with
/// `loop` moved innermost, in a nest of their own.
std::vector<Directive> separated(const Schedule& schedule, const Vectorize& vectorize,
                                 LoopId loop) {
  const Order& order = schedule.order;
  const poly::StmtId statement = poly::statements_below(*loop_inside(order, loop)).front();
  const std::string& name = schedule.scop[statement].text.name;
  const std::vector<LoopId> path = poly::path_of(order, statement);
  Reorder reorder;
  for (size_t depth = *poly::depth_of(order, loop) + 1; depth < path.size(); ++depth)
    if (!order[path[depth]].is_coalesced_into_parent)
      reorder.loops.push_back({name, order[path[depth]].name});
  reorder.loops.push_back({name, order[loop].name});
  return {Distribute{name_of_loop(schedule.scop, order, loop)}, reorder,
          qualified_by(vectorize, name)};
}

/// The nest below `loop` with `loop` moved innermost; empty when it is not perfect.
std::vector<LoopName> moved_innermost(const Schedule& schedule, LoopId loop) {
  const Order& order = schedule.order;
  std::vector<LoopName> names;
  for (const TreeNode* node = poly::find_node(order, loop); loop_inside(order, node->loop());) {
    if (node->body.size() != 1)
      return {};
    node = &node->body[0];
    if (!order[node->loop()].is_coalesced_into_parent)
      names.push_back(name_of_loop(schedule.scop, order, node->loop()));
  }
  names.push_back(name_of_loop(schedule.scop, order, loop));
  return names;
}

Refusal::Shape not_innermost(const Schedule& schedule, const Vectorize& vectorize, LoopId loop,
                             const std::string& request) {
  const Order& order = schedule.order;
  const LoopId inside = loop_inside(order, loop)->loop();
  const LoopName inside_name = name_of_loop(schedule.scop, order, inside);
  Refusal::Shape refusal = shape_refusal(
      kNotInnermost, request + ": it is not an innermost loop", order[inside].where,
      "stands inside " + quoted(vectorize.loop),
      {"The lanes of a vector are consecutive iterations of a loop with statements only; " +
       quoted(inside_name) + " stands inside " + quoted(vectorize.loop) + "."});
  if (const auto names = moved_innermost(schedule, loop); names.size() > 1)
    refusal.ways_out.push_back({Reorder{names}, vectorize});
  else
    refusal.ways_out.push_back(separated(schedule, vectorize, loop));
  refusal.ways_out.push_back({Vectorize{inside_name, vectorize.width}});
  return refusal;
}

} // namespace

int64_t natural_width(const poly::Scop& scop, const Order& order, LoopId loop,
                      const target::Cpu& cpu) {
  int64_t bytes = 1;
  const auto count = [&](uint32_t tensor) {
    bytes = std::max(bytes, scalar::bytes_of(scop.tensors[tensor].elem));
  };
  for (const poly::StmtId statement : poly::statements_below(order, loop)) {
    const program::Statement& text = scop[statement].text;
    count(text.tensor);
    scalar::visit(text.value, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        count(load->tensor);
    });
  }
  return std::max<int64_t>(2, target::vector_lanes(cpu, bytes));
}

Proposed propose(const Schedule& schedule, const Vectorize& vectorize,
                 const Environment& environment) {
  const std::string request = request_of(vectorize);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, vectorize.loop, request));
  Order order = schedule.order;
  const poly::OrderLoop& l = order[loop];
  if (vectorize.width && (*vectorize.width < 2 || *vectorize.width > kMostLanes))
    return fail(shape_refusal(
        kBadSize, request + ": the width must be from 2 to " + std::to_string(kMostLanes), l.where,
        "", {"The width was " + std::to_string(*vectorize.width) + "."}));
  const bool is_coalesced = unit_of(order, loop).size() > 1;
  if (l.marks.is_parallel || is_coalesced)
    return fail(shape_refusal(kAlreadyMarked,
                              request + ": it is " +
                                  (l.marks.is_parallel ? "a parallel" : "a coalesced") + " loop",
                              l.where, "", {"Split it, and vectorize the inner part."}));
  if (l.marks.axis != poly::Axis::None)
    return fail(*refuse_if_bound(order, loop, request));
  if (loop_inside(order, loop))
    return fail(not_innermost(schedule, vectorize, loop, request));
  order[loop].marks.vector_width =
      vectorize.width.value_or(natural_width(schedule.scop, order, loop, environment.cpu));
  order[loop].marks.is_scan = poly::runs_as_scan(schedule.scop, order, loop, environment.quota);
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
