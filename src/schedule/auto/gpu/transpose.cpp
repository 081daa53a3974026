#include "schedule/auto/gpu/plan.h"

#include "schedule/attempt.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Axis;

constexpr int64_t kTurnAcross = 32; ///< threads along a row of a tile
constexpr int64_t kTurnDown = 8;    ///< threads along its columns
constexpr int64_t kTurnBytes = 4;   ///< that a thread moves at a time

/// Neighbouring elements that a thread moves: rows of tiles are whole cache lines.
int64_t elements_at_a_time(const Schedule& schedule, poly::StmtId id, uint32_t read, int64_t rows,
                           int64_t columns) {
  const auto& tensors = schedule.scop.tensors;
  const int64_t bytes = std::max(scalar::bytes_of(tensors[read].elem),
                                 scalar::bytes_of(tensors[schedule.scop[id].text.tensor].elem));
  const int64_t elements = std::max<int64_t>(kTurnBytes / bytes, 1);
  return rows % elements == 0 && columns % elements == 0 ? elements : 1;
}

/// A loop along which the write walks through memory and another along which a read does.
struct AccessDirection {
  size_t write = 0, read = 0; ///< positions in the nest
  uint32_t tensor = 0;        ///< that is read
};

std::optional<AccessDirection> access_direction_of(const Schedule& schedule, const Nest& nest) {
  if (nest.statements.size() != 1)
    return std::nullopt;
  const AccessTable table = access_table(schedule, nest);
  const LoopAccess& result = table.front();
  for (size_t w = 0; w < nest.loops.size(); ++w)
    for (size_t r = 0; r < nest.loops.size(); ++r)
      for (const LoopAccess& load : table)
        if (w != r && !load.is_write && result.moves[w] == Move::Unit &&
            result.moves[r] == Move::Far && load.moves[w] == Move::Far &&
            load.moves[r] == Move::Unit)
          return AccessDirection{w, r, load.tensor};
  return std::nullopt;
}

/// The loop over groups of elements.
std::string narrowed(GpuPlan& plan, const std::string& loop, int64_t elements) {
  if (elements == 1)
    return loop;
  plan.split(loop, elements);
  return loop + ".0";
}

/// Tiles as blocks, with threads of which each writes a few elements of several rows.
GpuPlan plan_of_tiles(const Schedule& schedule, const Nest& nest, const AccessDirection& direction,
                      int64_t elements) {
  GpuPlan plan(schedule.scop[nest.statements.front()].text.name);
  const auto name = [&](size_t k) { return schedule.order[nest.loops[k]].name; };
  const std::string w = name(direction.write), r = name(direction.read);
  std::vector<std::string> order;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (k != direction.write && k != direction.read)
      order.push_back(name(k));
  const std::vector<std::string> outer = order;
  order.insert(order.end(), {r, w});
  const int64_t side = kTurnAcross * elements;
  plan.reorder(order);
  plan.add(Tile{{{plan.loop(r), side}, {plan.loop(w), side}}});
  plan.split(r + ".1", kTurnDown);
  const std::string across = narrowed(plan, w + ".1", elements);
  plan.reorder({r + ".1.1", across, r + ".1.0"});
  if (!outer.empty())
    plan.bind(outer[0], Axis::BlockZ);
  plan.bind(r + ".0", Axis::BlockY);
  plan.bind(w + ".0", Axis::BlockX);
  plan.bind(r + ".1.1", Axis::ThreadY);
  plan.bind(across, Axis::ThreadX);
  plan.unroll(r + ".1.0");
  if (elements > 1)
    plan.vectorize(w + ".1.1", elements);
  plan.add(Stage{schedule.scop.tensors[direction.tensor].name, plan.loop(w + ".0"), std::nullopt,
                 std::nullopt});
  return plan;
}

/// The copy to shared memory, likewise.
GpuPlan plan_of_copy(const Schedule& staged, int64_t elements) {
  const poly::StmtId copy{static_cast<uint32_t>(staged.scop.statements.size() - 1)};
  const std::vector<poly::LoopId> path = poly::path_of(staged.order, copy);
  const std::string a = staged.order[path[path.size() - 2]].name,
                    b = staged.order[path.back()].name;
  GpuPlan plan(staged.scop[copy].text.name);
  plan.split(a, kTurnDown);
  const std::string across = narrowed(plan, b, elements);
  plan.reorder({a + ".1", across, a + ".0"});
  plan.bind(a + ".1", Axis::ThreadY);
  plan.bind(across, Axis::ThreadX);
  plan.unroll(a + ".0");
  if (elements > 1)
    plan.vectorize(b + ".1", elements);
  return plan;
}

} // namespace

bool bind_transpose(Schedule& schedule, const Nest& nest, const Environment& environment) {
  const auto direction = access_direction_of(schedule, nest);
  const NestFacts facts = facts_of(schedule, nest);
  if (!direction || nest.loops.size() > 3 || facts.fixed > 0 ||
      std::count(facts.is_parallel.begin(), facts.is_parallel.end(), false) > 0)
    return false;
  const int64_t rows = facts.extents[direction->read], columns = facts.extents[direction->write];
  const int64_t elements =
      elements_at_a_time(schedule, nest.statements.front(), direction->tensor, rows, columns);
  if (std::min(rows, columns) < kTurnAcross * elements)
    return false;
  Schedule made = schedule;
  if (!attempt(made, plan_of_tiles(schedule, nest, *direction, elements).list(), environment,
               "transpose through shared memory", nest.statements) ||
      !try_plan(made, plan_of_copy(made, elements).list(), environment))
    return false;
  schedule = std::move(made);
  return true;
}

} // namespace kawara::schedule
