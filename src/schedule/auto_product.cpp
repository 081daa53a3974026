#include "schedule/auto_product.h"

#include "schedule/auto_cuts.h"
#include "schedule/extent.h"
#include "schedule/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// In vector multiply-adds: storing a cell; storing it across lanes, alone or in a tile that is turned over (for each cell and
/// for each vector); copying one, in runs or from far apart.
constexpr double kStore = 0.5, kStridedStore = 4.0, kTurnedStore = 1.0, kTurnedVector = 4.0;
constexpr double kCopy = 1.5, kFarCopy = 4.0;
/// Loops of at most this many iterations around the innermost are unrolled whole.
constexpr int64_t kShort = 8;
/// Assumed where an extent depends on parameters: large, so that buffers stay within their caches.
constexpr int64_t kUnknownDepth = 2048;
/// Fewer multiply-adds than this are not worth copying operands.
constexpr int64_t kWorthPacking = 4096;
/// Fewer than this for each byte of a vector are not worth waking threads; fewer by `kWait` with few rows, which wait for
/// memory.
constexpr int64_t kWorthThreads = 1 << 13, kWait = 4;
/// Rows of the result that make it worth to keep operands of narrow types converted.
constexpr int64_t kWorthConverting = 8;

/// Builds the directive list; loops are named by statement, so that equal names do not matter.
class ProductPlanner {
public:
  ProductPlanner(const Schedule& schedule, const Product& p, const Environment& environment,
                 bool may_be_parallel)
      : schedule_(schedule), p_(p), cuts_(cuts_of(schedule, p, environment)),
        may_be_parallel_(may_be_parallel), vector_bytes_(environment.cpu.vector_bytes) {}

  std::vector<Directive> plan(const std::vector<Companion>& before,
                              const std::vector<Companion>& after) {
    tile_product();
    for (const auto* list : {&before, &after})
      for (const Companion& c : *list)
        tile_companion(c);
    for (const Companion& c : before)
      fuse(c, true);
    for (const Companion& c : after)
      fuse(c, false);
    pack();
    const std::string update = name(p_.update());
    if (cuts_.instruction)
      tensorize(update);
    else
      mark_tile(update, own(p_.rows), own(p_.lanes));
    for (const auto* list : {&before, &after})
      for (const Companion& c : *list)
        mark_tile(name(c.statement), loop_name(c.loops.back()), loop_name(lanes_of(c)));
    unroll_depth(update);
    if (cuts_.calls_results)
      add(Prefetch{schedule_.scop.tensors[p_.result].name, {update, own(p_.rows) + ".1.0"}, 1});
    if (cuts_.calls_block)
      add(Prefetch{schedule_.scop.tensors[p_.left].name, {update, own(p_.rows) + ".0"}, 1});
    if (may_be_parallel_ &&
        work() * (p_.extents[p_.rows] < kWait ? kWait : 1) >= kWorthThreads * vector_bytes_)
      spread();
    return std::move(plan_);
  }

private:
  const std::string& name(StmtId id) const { return schedule_.scop[id].text.name; }
  const std::string& loop_name(LoopId loop) const { return schedule_.order[loop].name; }
  std::string own(size_t position) const { return loop_name(p_.nest.loops[position]); }
  static LoopId lanes_of(const Companion& c) { return c.loops[c.loops.size() - 2]; }
  int64_t width() const { return cuts_.tile.vectors * cuts_.lanes; }

  template <class D> void add(D directive) { plan_.emplace_back(std::move(directive)); }

  int64_t work() const {
    std::vector<size_t> all(p_.extents.size());
    for (size_t k = 0; k < all.size(); ++k)
      all[k] = k;
    return product_over(p_.extents, all);
  }

  void cut_result(const std::string& statement, const std::string& rows, const std::string& lanes) {
    add(Split{{statement, lanes}, cuts_.blocks.columns});
    add(Split{{statement, rows}, cuts_.blocks.rows});
    add(Split{{statement, lanes + ".1"}, width()});
    add(Split{{statement, rows + ".1"}, cuts_.tile.rows});
  }

  /// Outer loops stand around blocks, but inside them where results are added up along them: those then
  /// stay in the nearest cache. Inside the blocks of columns where each of these stays in a cache that all do not fit.
  std::vector<std::string> around_tile(std::vector<std::string> outer,
                                       std::vector<std::string> blocks) const {
    if (p_.combines_along_outer)
      outer.swap(blocks);
    else if (cuts_.columns_outside) {
      outer.insert(outer.begin(), blocks.front());
      blocks.erase(blocks.begin());
    }
    outer.insert(outer.end(), blocks.begin(), blocks.end());
    return outer;
  }

  /// Outer loops, blocks, register tiles, then `inside`, then the cells of the tile.
  void order(const std::string& statement, const std::vector<std::string>& outer,
             const std::string& rows, const std::string& lanes, bool has_depth_blocks,
             const std::vector<std::string>& inside, const std::vector<std::string>& innermost) {
    std::vector<std::string> blocks{lanes + ".0"};
    if (has_depth_blocks)
      blocks.push_back(own(cuts_.deepest) + ".0");
    for (const std::string& part : {rows + ".0", lanes + ".1.0", rows + ".1.0"})
      blocks.push_back(part);
    std::vector<std::string> names = around_tile(outer, blocks);
    names.insert(names.end(), inside.begin(), inside.end());
    names.insert(names.end(), innermost.begin(), innermost.end());
    Reorder reorder;
    for (const std::string& n : names)
      reorder.loops.push_back({statement, n});
    add(std::move(reorder));
  }

  void tile_product() {
    const std::string statement = name(p_.update());
    const bool is_cut = cuts_.depth_part != 0;
    cut_result(statement, own(p_.rows), own(p_.lanes));
    if (is_cut)
      add(Split{{statement, own(cuts_.deepest)}, cuts_.depth_part});
    std::vector<std::string> outer, inside, innermost;
    const std::string tile_rows = own(p_.rows) + ".1.1", tile_lanes = own(p_.lanes) + ".1.1";
    if (cuts_.instruction_rows() > 1) {
      add(Split{{statement, tile_rows}, cuts_.instruction_rows()});
      add(Split{{statement, tile_lanes}, cuts_.instruction->lanes});
      innermost = {tile_rows + ".0", tile_lanes + ".0", tile_rows + ".1", tile_lanes + ".1"};
    } else
      innermost = {tile_rows, tile_lanes};
    if (cuts_.instruction_depth() > 1) {
      add(Split{{statement, deepest_part()}, cuts_.instruction_depth()});
      innermost.push_back(deepest_part() + ".1");
    }
    for (const size_t k : p_.outer)
      outer.push_back(own(k));
    for (const size_t k : p_.depth)
      inside.push_back(depth_loop(k));
    order(statement, outer, own(p_.rows), own(p_.lanes), is_cut, inside, innermost);
  }

  std::string deepest_part() const {
    return own(cuts_.deepest) + (cuts_.depth_part != 0 ? ".1" : "");
  }

  /// The loop of the reduction that runs around the register tile.
  std::string depth_loop(size_t k) const {
    if (k != cuts_.deepest)
      return own(k);
    return deepest_part() + (cuts_.instruction_depth() > 1 ? ".0" : "");
  }

  /// The innermost reduction loop four times over; a short one whole, with the one around it.
  void unroll_depth(const std::string& update) {
    const size_t last = p_.depth.back();
    if (p_.extents[last] > kShort || p_.depth.size() == 1)
      return add(Unroll{{update, depth_loop(last)}, 4});
    add(Unroll{{update, depth_loop(last)}, std::nullopt});
  }

  void tile_companion(const Companion& c) {
    const std::string& rows = loop_name(c.loops.back());
    const std::string& lanes = loop_name(lanes_of(c));
    cut_result(name(c.statement), rows, lanes);
    std::vector<std::string> outer;
    for (size_t k = 0; k + 2 < c.loops.size(); ++k)
      outer.push_back(loop_name(c.loops[k]));
    order(name(c.statement), outer, rows, lanes, false, {}, {rows + ".1.1", lanes + ".1.1"});
  }

  /// Loop by loop, from the outermost down to the register tiles.
  void fuse(const Companion& c, bool is_before) {
    const auto parts = [&](std::vector<std::string> outer, const std::string& lanes,
                           const std::string& rows) {
      return around_tile(std::move(outer),
                         {lanes + ".0", rows + ".0", lanes + ".1.0", rows + ".1.0"});
    };
    std::vector<std::string> mine, theirs;
    for (const size_t k : p_.outer)
      mine.push_back(own(k));
    for (size_t k = 0; k + 2 < c.loops.size(); ++k)
      theirs.push_back(loop_name(c.loops[k]));
    mine = parts(std::move(mine), own(p_.lanes), own(p_.rows));
    theirs = parts(std::move(theirs), loop_name(lanes_of(c)), loop_name(c.loops.back()));
    for (size_t k = 0; k < mine.size(); ++k) {
      const LoopName a{name(p_.update()), mine[k]}, b{name(c.statement), theirs[k]};
      if (is_before)
        add(Fuse{b, a});
      else
        add(Fuse{a, b});
    }
  }

  void pack() {
    const std::string statement = name(p_.update());
    const bool is_cut = cuts_.depth_part != 0;
    auto number = static_cast<uint32_t>(schedule_.scop.statements.size());
    const auto pack_one = [&](uint32_t tensor, bool is_whole, const std::string& at,
                              const std::string& cells) {
      Pack pack{schedule_.scop.tensors[tensor].name, std::nullopt, packed_type(tensor)};
      if (!is_whole)
        pack.loop = LoopName{statement, at};
      add(std::move(pack));
      return std::pair("S" + std::to_string(number++), cells + ".1.1");
    };
    if (packs_right(p_, cuts_.lanes)) {
      const auto [copy, cells] =
          pack_one(p_.right, p_.right_stays,
                   is_cut ? own(cuts_.deepest) + ".0" : own(p_.lanes) + ".0", own(p_.lanes));
      right_copy_ = p_.right_stays ? "" : copy;
      if (cuts_.instruction_depth() > 1)
        unroll_groups(copy, cells);
      else {
        add(Vectorize{{copy, cells}, cuts_.lanes});
        add(Unroll{{copy, cells}, std::nullopt});
        // Lanes that lie far apart come as squares, turned over in registers.
        if (p_.has_far_lanes && p_.extents[p_.depth.back()] >= cuts_.lanes)
          add(Unroll{{copy, copied_depth(p_.depth.back())}, cuts_.lanes});
      }
    }
    if (packs_left(p_, cuts_.lanes)) {
      const auto [copy, cells] =
          pack_one(p_.left, p_.left_stays, own(p_.rows) + ".0", own(p_.rows));
      if (cuts_.instruction_depth() > 1)
        unroll_groups(copy, cells);
      else {
        if (cuts_.calls_block)
          walk_along_rows(copy);
        add(Unroll{{copy, cells}, std::nullopt});
      }
    }
    for (Directive& directive : bring_left_together(schedule_, p_, cuts_.lanes, number))
      plan_.push_back(std::move(directive));
  }

  std::string copied_depth(size_t k) const { return k == cuts_.deepest ? deepest_part() : own(k); }

  /// A copy from afar takes neighbours together: each row of the reduction may lie on a page of its own.
  void walk_along_rows(const std::string& copy) {
    Reorder order;
    for (const size_t k : p_.depth)
      order.loops.push_back({copy, copied_depth(k)});
    order.loops.push_back({copy, own(p_.rows) + ".1.0"});
    order.loops.push_back({copy, own(p_.rows) + ".1.1"});
    add(std::move(order));
  }

  /// The group of cells that an instruction takes of a row or column, inside the loops over those.
  void unroll_groups(const std::string& copy, const std::string& cells) {
    if (cuts_.instruction_rows() > 1) {
      add(Unroll{{copy, cells + ".0"}, std::nullopt});
      add(Unroll{{copy, cells + ".1"}, std::nullopt});
    } else
      add(Unroll{{copy, cells}, std::nullopt});
    add(Vectorize{{copy, deepest_part() + ".1"}, cuts_.instruction_depth()});
  }

  void tensorize(const std::string& update) {
    const std::string rows = own(p_.rows) + ".1.1", lanes = own(p_.lanes) + ".1.1";
    const bool has_rows = cuts_.instruction_rows() > 1;
    add(Unroll{{update, has_rows ? rows + ".0" : rows}, std::nullopt});
    if (has_rows)
      add(Unroll{{update, lanes + ".0"}, std::nullopt});
    add(Tensorize{{update, has_rows ? rows + ".1" : lanes}, cuts_.instruction->name});
  }

  /// The instruction's operands; for plain vectors the type that is computed with, so that cells are
  /// converted once. Cells that are used but a few times cost more in memory than in conversions.
  std::optional<scalar::Elem> packed_type(uint32_t tensor) const {
    if (cuts_.instruction)
      return cuts_.instruction->type;
    const scalar::Elem elem = schedule_.scop.tensors[tensor].elem;
    const scalar::Elem computed = scalar::compute_type(elem);
    const bool is_used_often = p_.extents[p_.rows] >= kWorthConverting;
    return computed != elem && is_used_often ? std::optional(computed) : std::nullopt;
  }

  void mark_tile(const std::string& statement, const std::string& rows, const std::string& lanes) {
    add(Unroll{{statement, rows + ".1.1"}, std::nullopt});
    add(Vectorize{{statement, lanes + ".1.1"}, cuts_.companion_lanes});
    add(Unroll{{statement, lanes + ".1.1"}, std::nullopt});
  }

  void spread() {
    const std::string statement = name(p_.update());
    if (p_.parts)
      return add(Parallel{{statement, own(*p_.parts)}});
    const auto wide = std::find_if(p_.outer.begin(), p_.outer.end(),
                                   [&](size_t k) { return p_.extents[k] >= 8; });
    if (wide != p_.outer.end() && *wide == p_.outer.front() && !p_.combines_along_outer)
      return add(Parallel{{statement, own(*wide)}});
    if (!cuts_.rows_in_parallel)
      return add(Parallel{{statement, own(p_.lanes) + ".0"}});
    add(Parallel{{statement, own(p_.rows) + ".0"}});
    if (!right_copy_.empty())
      add(Parallel{{right_copy_, own(p_.lanes) + ".1.0"}});
  }

  const Schedule& schedule_;
  const Product& p_;
  Cuts cuts_;
  bool may_be_parallel_;
  int64_t vector_bytes_;
  std::string right_copy_;
  std::vector<Directive> plan_;
};

/// Moves of the write and of the two loads along each loop of the nest.
using Moves = std::vector<std::vector<Move>>;

/// The operands of a product: what is loaded at other cells as the loops run. A factor that stays the same is
/// none of them.
struct Operands {
  Moves moves;
  std::vector<uint32_t> tensors;
};

Operands operands_of(const Schedule& schedule, const Nest& nest) {
  const StmtId update = nest.statements.front();
  Moves all;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    all.push_back(moves_of(schedule.scop, schedule.order, update, nest.depth + k));
  Operands operands;
  for (const std::vector<Move>& moves : all)
    operands.moves.push_back({moves.front()});
  size_t at = 0;
  scalar::visit(schedule.scop[update].text.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr)
      return;
    ++at;
    if (std::all_of(all.begin(), all.end(), [&](const auto& m) { return m[at] == Move::None; }))
      return;
    operands.tensors.push_back(load->tensor);
    for (size_t k = 0; k < all.size(); ++k)
      operands.moves[k].push_back(all[k][at]);
  });
  return operands;
}

/// Rows that make a copy of the right operand worth its while; one that is kept from call to call always is.
constexpr int64_t kFewRows = 4;

bool is_worth_it(const Schedule& schedule, const Product& p, const Environment& environment) {
  const int64_t vector = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  const int64_t work = p.extents[p.rows] * p.extents[p.lanes] * product_over(p.extents, p.depth);
  const bool is_kept = schedule.scop.tensors[p.right].is_constant;
  return p.extents[p.lanes] >= 2 * vector && (is_kept || p.extents[p.rows] >= kFewRows) &&
         work >= kWorthPacking;
}

/// The loops by role when `lanes` runs in lanes; nothing when no loop is left for the rows.
std::optional<Product> with_lanes(Product p, const Moves& moves, const NestFacts& facts,
                                  size_t lanes, const std::vector<uint32_t>& loaded) {
  const size_t right = moves[lanes][1] == Move::None ? 2 : 1;
  const size_t left = 3 - right;
  std::optional<size_t> rows;
  for (size_t k = 0; k < moves.size(); ++k) {
    if (moves[k][0] == Move::None)
      p.depth.push_back(k);
    else if (k != lanes && facts.is_parallel[k] && moves[k][left] != Move::None &&
             moves[k][right] == Move::None &&
             (!rows || moves[k][0] == Move::Unit ||
              (moves[*rows][0] != Move::Unit && p.extents[k] > p.extents[*rows])))
      rows = k;
  }
  // A loop that runs once moves nothing; it can stand for the rows of a result that has but one.
  const auto single = std::find_if(p.depth.begin(), p.depth.end(), [&](size_t k) {
    return p.extents[k] == 1 && facts.is_parallel[k] && moves[k][left] == Move::None;
  });
  if (!rows && single != p.depth.end()) {
    rows = *single;
    p.depth.erase(single);
  }
  if (!rows || p.depth.empty())
    return std::nullopt;
  for (size_t k = 0; k < moves.size(); ++k)
    if (moves[k][0] != Move::None && k != lanes && k != *rows) {
      if (!facts.is_parallel[k])
        return std::nullopt;
      p.outer.push_back(k);
      p.left_stays = p.left_stays || moves[k][left] == Move::None;
      p.right_stays = p.right_stays || moves[k][right] == Move::None;
      p.right_rests = p.right_rests && moves[k][right] == Move::None;
    }
  p.lanes = lanes;
  p.rows = *rows;
  p.has_strided_lanes = moves[lanes][0] != Move::Unit;
  p.turns_over = p.has_strided_lanes && moves[*rows][0] == Move::Unit;
  p.has_far_lanes = moves[lanes][right] != Move::Unit;
  p.has_far_rows = moves[*rows][left] != Move::Unit;
  p.left = loaded[left - 1];
  p.right = loaded[right - 1];
  return p;
}

/// Multiply-adds of vectors that the product takes, with what edges, stores and copies add.
double cost_of(const Schedule& schedule, const Product& p, const Environment& environment) {
  const int64_t lanes = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  const double rows = static_cast<double>(p.extents[p.rows]);
  const double columns = static_cast<double>(p.extents[p.lanes]);
  const auto depth = static_cast<double>(product_over(p.extents, p.depth));
  const EdgeCosts edges = edge_costs(p, lanes);
  const RegisterTile tile =
      register_tile(environment.cpu, lanes, p.extents[p.rows], p.extents[p.lanes], edges);
  const double steps =
      tile_steps(environment.cpu, tile, lanes, p.extents[p.rows], p.extents[p.lanes], edges);
  // What follows a temp stores lane by lane.
  const bool is_turned =
      p.turns_over && schedule.scop.tensors[p.result].role != program::Role::Temp;
  const double strided =
      is_turned ? kTurnedStore + kTurnedVector / static_cast<double>(lanes) : kStridedStore;
  const double store = rows * columns * (p.has_strided_lanes ? strided : kStore);
  const double copy = p.has_far_lanes ? kFarCopy : kCopy;
  const double right_copies = p.right_stays ? 0 : columns * depth * copy;
  const auto instruction = instruction_for(schedule, p, environment);
  const double speed = instruction ? instruction->speed : 1.0;
  const double left_copies = p.left_stays || p.left_has_window ? 0 : rows * depth * kCopy;
  return depth * steps / speed + store + right_copies + left_copies;
}

/// Threads of a GPU store neighbouring results together; what registers of the CPU gain counts behind that. So it does for
/// sizes that are not known (`is_open`): the edges of tiles of an assumed size decide nothing.
bool is_better(const Schedule& schedule, const Product& p, const Product& than,
               const Environment& environment, bool is_open) {
  if ((environment.gpu || is_open) && p.has_strided_lanes != than.has_strided_lanes)
    return than.has_strided_lanes;
  return cost_of(schedule, p, environment) < cost_of(schedule, than, environment);
}

} // namespace

std::optional<Product> product_of(const Schedule& schedule, const Nest& nest,
                                  const NestFacts& facts, const Environment& environment) {
  if (nest.statements.size() != 1 || facts.fixed != 0)
    return std::nullopt;
  Product p;
  p.nest = nest;
  p.extents = facts.extents;
  bool is_open = false;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (!longest_run(schedule.scop, schedule.order, nest.loops[k])) {
      p.extents[k] = kUnknownDepth;
      is_open = true;
    }
  const program::Statement& text = schedule.scop[p.update()].text;
  if (text.op == scalar::ReduceOp::None)
    return std::nullopt;
  const auto [moves, loaded] = operands_of(schedule, nest);
  if (loaded.size() != 2)
    return std::nullopt;
  p.result = text.tensor;
  std::optional<Product> best;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const bool is_one_sided = (moves[k][1] == Move::None) != (moves[k][2] == Move::None);
    if (moves[k][0] == Move::None || !facts.is_parallel[k] || !is_one_sided)
      continue;
    auto other = with_lanes(p, moves, facts, k, loaded);
    if (!other || !is_worth_it(schedule, *other, environment))
      continue;
    // What keeps its values is packed once for all calls.
    other->left_stays = other->left_stays || schedule.scop.tensors[other->left].is_constant;
    other->right_stays = other->right_stays || schedule.scop.tensors[other->right].is_constant;
    other->left_has_window = has_window(schedule, *other, other->left);
    if (other->left_has_window && !environment.gpu && environment.cpu.vector_bytes > 16 &&
        schedule.scop.numerics != program::Numerics::Exact)
      keep_shifts_apart(schedule, *other);
    if (!best || is_better(schedule, *other, *best, environment, is_open))
      best = std::move(other);
  }
  return best;
}

std::vector<Directive> product_plan(const Schedule& schedule, const Product& p,
                                    const std::vector<Companion>& before,
                                    const std::vector<Companion>& after,
                                    const Environment& environment, bool may_be_parallel) {
  return ProductPlanner(schedule, p, environment, may_be_parallel).plan(before, after);
}

bool runs_as_instruction(const Schedule& schedule, const Product& p,
                         const Environment& environment) {
  return cuts_of(schedule, p, environment).instruction.has_value();
}

bool runs_in_one_go(const Schedule& schedule, const Product& p, const Environment& environment) {
  return cuts_of(schedule, p, environment).depth_part == 0;
}

} // namespace kawara::schedule
