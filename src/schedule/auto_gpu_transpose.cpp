#include "schedule/gpu_plan.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::Axis;

constexpr int64_t kTurnSide = 32; ///< of a tile
constexpr int64_t kTurnDown = 8;  ///< threads along its rows

/// A loop along which the write walks through memory and another along which a read does.
struct Grain {
  size_t write = 0, read = 0; ///< positions in the nest
  uint32_t tensor = 0;        ///< that is read
};

std::optional<Grain> grain_of(const Schedule& schedule, const Nest& nest) {
  if (nest.statements.size() != 1)
    return std::nullopt;
  const poly::StmtId id = nest.statements.front();
  std::vector<uint32_t> loaded;
  scalar::visit(schedule.scop[id].text.value, [&](const scalar::Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      loaded.push_back(load->tensor);
  });
  std::vector<std::vector<Move>> moves;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    moves.push_back(moves_of(schedule.scop, schedule.order, id, nest.depth + k));
  for (size_t w = 0; w < moves.size(); ++w)
    for (size_t r = 0; r < moves.size(); ++r)
      for (size_t a = 1; a < moves[w].size() && a <= loaded.size(); ++a)
        if (w != r && moves[w][0] == Move::Unit && moves[r][0] == Move::Far &&
            moves[w][a] == Move::Far && moves[r][a] == Move::Unit)
          return Grain{w, r, loaded[a - 1]};
  return std::nullopt;
}

} // namespace

bool bind_transpose(Schedule& schedule, const Nest& nest, const Environment& environment) {
  const auto grain = grain_of(schedule, nest);
  const NestFacts facts = facts_of(schedule, nest);
  if (!grain || nest.loops.size() > 3 || facts.fixed > 0 ||
      std::count(facts.is_parallel.begin(), facts.is_parallel.end(), false) > 0 ||
      facts.extents[grain->write] < kTurnSide || facts.extents[grain->read] < kTurnSide)
    return false;
  Schedule made = schedule;
  const poly::StmtId id = nest.statements.front();
  GpuPlan plan(schedule.scop[id].text.name);
  const auto name = [&](size_t k) { return schedule.order[nest.loops[k]].name; };
  const std::string w = name(grain->write), r = name(grain->read);
  std::vector<std::string> order;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (k != grain->write && k != grain->read)
      order.push_back(name(k));
  const std::vector<std::string> outer = order;
  order.insert(order.end(), {r, w});
  plan.reorder(order);
  plan.add(Tile{{{plan.loop(r), kTurnSide}, {plan.loop(w), kTurnSide}}});
  plan.split(r + ".1", kTurnDown);
  plan.reorder({r + ".1.1", w + ".1", r + ".1.0"});
  if (!outer.empty())
    plan.bind(outer[0], Axis::BlockZ);
  plan.bind(r + ".0", Axis::BlockY);
  plan.bind(w + ".0", Axis::BlockX);
  plan.bind(r + ".1.1", Axis::ThreadY);
  plan.bind(w + ".1", Axis::ThreadX);
  plan.unroll(r + ".1.0");
  plan.add(Stage{schedule.scop.tensors[grain->tensor].name, plan.loop(w + ".0"), std::nullopt,
                 std::nullopt});
  if (!try_plan(made, plan.list(), environment))
    return false;
  const poly::StmtId copy{static_cast<uint32_t>(made.scop.statements.size() - 1)};
  const std::vector<poly::LoopId> path = poly::path_of(made.order, copy);
  const std::string a = made.order[path[path.size() - 2]].name, b = made.order[path.back()].name;
  GpuPlan load(made.scop[copy].text.name);
  load.split(a, kTurnDown);
  load.reorder({a + ".1", b, a + ".0"});
  load.bind(a + ".1", Axis::ThreadY);
  load.bind(b, Axis::ThreadX);
  load.unroll(a + ".0");
  if (!try_plan(made, load.list(), environment))
    return false;
  schedule = std::move(made);
  return true;
}

} // namespace kawara::schedule
