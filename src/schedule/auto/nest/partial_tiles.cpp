#include "schedule/auto/nest/partial_tiles.h"

#include "scalar/loads.h"
#include "schedule/auto/facts/dataflow.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

using poly::LoopId;
using poly::OrderLoop;
using poly::StmtId;

/// A loop of results that is cut: `i.0` around `i.1` of that many iterations.
struct CutLoop {
  std::string name;
  int64_t size = 0;
};

std::vector<OrderLoop> loops_around(const Schedule& schedule, StmtId statement) {
  std::vector<OrderLoop> loops;
  for (const LoopId loop : poly::path_of(schedule.order, statement))
    loops.push_back(schedule.order[loop]);
  return loops;
}

/// The outermost loops whose points registers hold.
std::vector<CutLoop> tiles_of(const Schedule& schedule, StmtId update) {
  const std::vector<LoopId> path = poly::path_of(schedule.order, update);
  std::vector<CutLoop> tiles;
  for (const LoopId loop : path) {
    const std::string& name = schedule.order[loop].name;
    if (!name.ends_with(".0"))
      break;
    const std::string base = name.substr(0, name.size() - 2);
    const auto point = std::find_if(path.begin(), path.end(), [&](LoopId other) {
      return schedule.order[other].name == base + ".1" &&
             schedule.order[other].marks.unroll == poly::kFullUnroll;
    });
    const auto size =
        point == path.end() ? std::nullopt : known_run(schedule.scop, schedule.order, *point);
    if (!size)
      break;
    tiles.push_back({base, *size});
  }
  return tiles;
}

/// The one of these statements that is not the update; none where there are several.
std::optional<StmtId> only_other(const std::vector<StmtId>& statements, StmtId update) {
  std::optional<StmtId> found;
  for (const StmtId id : statements) {
    if (id == update)
      continue;
    if (found)
      return std::nullopt;
    found = id;
  }
  return found;
}

/// One nest cut like the update, its points in registers, its lanes innermost.
class CutNest {
public:
  CutNest(const Schedule& schedule, StmtId statement, const std::vector<CutLoop>& tiles,
          const OrderLoop& lanes)
      : statement_(schedule.scop[statement].text.name), tiles_(tiles), lanes_(lanes),
        loops_(loops_around(schedule, statement)) {}

  /// Has it the loops of the tiles and the lanes, and no marks?
  bool is_alike() const {
    return std::all_of(tiles_.begin(), tiles_.end(),
                       [&](const CutLoop& tile) { return has(tile.name); }) &&
           has(lanes_.name) && std::all_of(loops_.begin(), loops_.end(), [](const OrderLoop& loop) {
             return loop.marks == poly::Marks{};
           });
  }

  std::vector<Directive> cut() const {
    std::vector<Directive> plan;
    Reorder order;
    for (const CutLoop& tile : tiles_) {
      plan.emplace_back(Split{named(tile.name), tile.size});
      order.loops.push_back(named(tile.name + ".0"));
    }
    for (const LoopName& point : points())
      order.loops.push_back(point);
    order.loops.push_back(named(lanes_.name));
    plan.emplace_back(std::move(order));
    return plan;
  }

  std::vector<Directive> marks() const {
    std::vector<Directive> plan{Vectorize{named(lanes_.name), lanes_.marks.vector_width}};
    for (const LoopName& point : points())
      plan.emplace_back(Unroll{point, std::nullopt});
    return plan;
  }

  LoopName named(const std::string& loop) const { return {statement_, loop}; }

private:
  bool has(const std::string& name) const {
    return std::any_of(loops_.begin(), loops_.end(),
                       [&](const OrderLoop& loop) { return loop.name == name; });
  }

  std::vector<LoopName> points() const {
    std::vector<LoopName> found;
    for (const OrderLoop& loop : loops_) {
      const bool is_cut = std::any_of(tiles_.begin(), tiles_.end(),
                                      [&](const CutLoop& tile) { return tile.name == loop.name; });
      if (loop.name != lanes_.name)
        found.push_back(named(is_cut ? loop.name + ".1" : loop.name));
    }
    return found;
  }

  const std::string statement_;
  const std::vector<CutLoop>& tiles_;
  const OrderLoop& lanes_;
  std::vector<OrderLoop> loops_;
};

} // namespace

std::vector<Directive> partials_in_tiles(const Schedule& schedule, StmtId update) {
  const std::vector<CutLoop> tiles = tiles_of(schedule, update);
  const Dataflow flow(schedule.scop);
  const TensorFlow& partial = flow[schedule.scop[update].text.tensor];
  const auto begin = only_other(partial.writers, update), sum = only_other(partial.readers, update);
  const OrderLoop lanes = loops_around(schedule, update).back();
  if (tiles.empty() || !begin || !sum || lanes.marks.vector_width == 0)
    return {};
  const CutNest first(schedule, *begin, tiles, lanes), last(schedule, *sum, tiles, lanes);
  if (!first.is_alike() || !last.is_alike())
    return {};
  std::vector<Directive> plan = first.cut();
  const auto add = [&](std::vector<Directive> more) {
    plan.insert(plan.end(), more.begin(), more.end());
  };
  add(last.cut());
  const std::string& own = schedule.scop[update].text.name;
  for (const CutLoop& tile : tiles) {
    const std::string loop = tile.name + ".0";
    plan.emplace_back(Fuse{first.named(loop), {own, loop}});
    plan.emplace_back(Fuse{{own, loop}, last.named(loop)});
  }
  plan.emplace_back(StoreAt{schedule.scop.tensors[schedule.scop[update].text.tensor].name,
                            {own, tiles.back().name + ".0"}});
  add(first.marks());
  add(last.marks());
  return plan;
}

} // namespace kawara::schedule
