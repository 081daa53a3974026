#include "schedule/auto_product.h"

#include "schedule/extent.h"
#include "schedule/register_tile.h"
#include "schedule/resolve.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// Assumed where an extent depends on parameters: large, so that buffers stay within their caches.
constexpr int64_t kUnknownExtent = 2048;
/// Fewer multiply-adds than this are not worth copying operands.
constexpr int64_t kWorthPacking = 4096;
/// Fewer than this are not worth waking threads.
constexpr int64_t kWorthThreads = 1 << 20;
/// An operand that is used fewer times than this is read where it lies.
constexpr int64_t kWorthCopying = 16;

std::vector<uint32_t> loaded_tensors(const program::Statement& text) {
  std::vector<uint32_t> tensors;
  scalar::visit(text.value, [&](const Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      tensors.push_back(load->tensor);
  });
  return tensors;
}

int64_t product_over(const std::vector<int64_t>& extents, const std::vector<size_t>& positions) {
  int64_t product = 1;
  for (const size_t k : positions)
    product = std::min<int64_t>(product * std::max<int64_t>(extents[k], 1), int64_t{1} << 40);
  return product;
}

int64_t element_bytes(const Schedule& schedule, const Product& p) {
  return scalar::bytes_of(scalar::compute_type(schedule.scop.tensors[p.result].elem));
}

/// Sizes that a product is cut into, and the loop of the reduction that is cut.
struct Cuts {
  RegisterTile tile;
  CacheBlocks blocks;
  int64_t lanes = 1; ///< of one vector
  size_t deepest = 0;
  int64_t depth_part = 0; ///< of the deepest loop; 0: it is not cut
  bool rows_in_parallel = true;
};

Cuts cuts_of(const Schedule& schedule, const Product& p, const Environment& environment) {
  Cuts cuts;
  const int64_t bytes = element_bytes(schedule, p);
  const int64_t cores = environment.cpu.cores;
  const int64_t rows = p.extents[p.rows], columns = p.extents[p.lanes];
  cuts.lanes = target::vector_lanes(environment.cpu, bytes);
  cuts.tile = register_tile(environment.cpu, cuts.lanes, rows, columns);
  cuts.rows_in_parallel = rows / cuts.tile.rows >= 2 * cores;
  cuts.blocks = cache_blocks(environment.cpu, cuts.tile, cuts.lanes, bytes, rows, columns,
                             product_over(p.extents, p.depth), cuts.rows_in_parallel ? cores : 1,
                             cuts.rows_in_parallel ? 1 : cores);
  cuts.deepest = *std::max_element(p.depth.begin(), p.depth.end(),
                                   [&](size_t a, size_t b) { return p.extents[a] < p.extents[b]; });
  const int64_t around =
      std::max<int64_t>(1, product_over(p.extents, p.depth) / p.extents[cuts.deepest]);
  const int64_t part = std::max<int64_t>(1, cuts.blocks.depth / around);
  cuts.depth_part = part < p.extents[cuts.deepest] ? part : 0;
  return cuts;
}

/// Builds the directive list; loops are named by statement, so that equal names do not matter.
class Planner {
public:
  Planner(const Schedule& schedule, const Product& p, const Environment& environment,
          bool may_be_parallel)
      : schedule_(schedule), p_(p), cuts_(cuts_of(schedule, p, environment)),
        may_be_parallel_(may_be_parallel) {}

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
    mark_tile(update, own(p_.rows), own(p_.lanes));
    for (const auto* list : {&before, &after})
      for (const Companion& c : *list)
        mark_tile(name(c.statement), loop_name(c.loops.back()), loop_name(lanes_of(c)));
    add(Unroll{{update, innermost_depth()}, 4});
    if (may_be_parallel_ && work() >= kWorthThreads)
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

  /// Outer loops, blocks, register tiles, then `inside`, then the cells of the tile.
  void order(const std::string& statement, const std::vector<std::string>& outer,
             const std::string& rows, const std::string& lanes, bool has_depth_blocks,
             const std::vector<std::string>& inside) {
    std::vector<std::string> names = outer;
    names.push_back(lanes + ".0");
    if (has_depth_blocks)
      names.push_back(own(cuts_.deepest) + ".0");
    for (const std::string& part : {rows + ".0", lanes + ".1.0", rows + ".1.0"})
      names.push_back(part);
    names.insert(names.end(), inside.begin(), inside.end());
    names.push_back(rows + ".1.1");
    names.push_back(lanes + ".1.1");
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
    std::vector<std::string> outer, inside;
    for (const size_t k : p_.outer)
      outer.push_back(own(k));
    for (const size_t k : p_.depth)
      inside.push_back(k == cuts_.deepest && is_cut ? own(k) + ".1" : own(k));
    order(statement, outer, own(p_.rows), own(p_.lanes), is_cut, inside);
  }

  std::string innermost_depth() const {
    const size_t last = p_.depth.back();
    return last == cuts_.deepest && cuts_.depth_part != 0 ? own(last) + ".1" : own(last);
  }

  void tile_companion(const Companion& c) {
    const std::string& rows = loop_name(c.loops.back());
    const std::string& lanes = loop_name(lanes_of(c));
    cut_result(name(c.statement), rows, lanes);
    std::vector<std::string> outer;
    for (size_t k = 0; k + 2 < c.loops.size(); ++k)
      outer.push_back(loop_name(c.loops[k]));
    order(name(c.statement), outer, rows, lanes, false, {});
  }

  /// Loop by loop, from the outermost down to the register tiles.
  void fuse(const Companion& c, bool is_before) {
    const auto parts = [](std::vector<std::string> outer, const std::string& lanes,
                          const std::string& rows) {
      for (const std::string& n : {lanes + ".0", rows + ".0", lanes + ".1.0", rows + ".1.0"})
        outer.push_back(n);
      return outer;
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
    const auto pack_one = [&](uint32_t tensor, const std::string& at, const std::string& cells) {
      add(Pack{schedule_.scop.tensors[tensor].name, {statement, at}});
      return std::pair("S" + std::to_string(number++), cells + ".1.1");
    };
    if (p_.left == p_.right)
      return;
    if (p_.extents[p_.rows] >= kWorthCopying) {
      const auto [copy, cells] = pack_one(
          p_.right, is_cut ? own(cuts_.deepest) + ".0" : own(p_.lanes) + ".0", own(p_.lanes));
      right_copy_ = copy;
      add(Vectorize{{copy, cells}, cuts_.lanes});
      add(Unroll{{copy, cells}, std::nullopt});
    }
    if (p_.extents[p_.lanes] >= kWorthCopying * cuts_.lanes) {
      const auto [copy, cells] = pack_one(p_.left, own(p_.rows) + ".0", own(p_.rows));
      add(Unroll{{copy, cells}, std::nullopt});
    }
  }

  void mark_tile(const std::string& statement, const std::string& rows, const std::string& lanes) {
    add(Unroll{{statement, rows + ".1.1"}, std::nullopt});
    add(Vectorize{{statement, lanes + ".1.1"}, cuts_.lanes});
    add(Unroll{{statement, lanes + ".1.1"}, std::nullopt});
  }

  void spread() {
    const std::string statement = name(p_.update());
    const auto wide = std::find_if(p_.outer.begin(), p_.outer.end(),
                                   [&](size_t k) { return p_.extents[k] >= 8; });
    if (wide != p_.outer.end() && *wide == p_.outer.front())
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
  std::string right_copy_;
  std::vector<Directive> plan_;
};

} // namespace

std::optional<Product> product_of(const Schedule& schedule, const Nest& nest,
                                  const NestFacts& facts, const Environment& environment) {
  if (nest.statements.size() != 1 || facts.fixed != 0)
    return std::nullopt;
  Product p{nest, facts.extents, 0, 0, {}, {}, 0, 0, 0};
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (!longest_run(schedule.scop, schedule.order, nest.loops[k]))
      p.extents[k] = kUnknownExtent;
  const program::Statement& text = schedule.scop[p.update()].text;
  const std::vector<uint32_t> loaded = loaded_tensors(text);
  if (text.op == scalar::ReduceOp::None || loaded.size() != 2)
    return std::nullopt;
  std::vector<std::vector<Move>> moves; // write, first load, second load
  for (size_t k = 0; k < nest.loops.size(); ++k)
    moves.push_back(moves_of(schedule.scop, schedule.order, p.update(), nest.depth + k));
  std::optional<size_t> lanes, rows;
  size_t right = 1;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const bool is_one_sided = (moves[k][1] == Move::None) != (moves[k][2] == Move::None);
    if (moves[k][0] == Move::Unit && facts.is_parallel[k] && is_one_sided) {
      lanes = k;
      right = moves[k][1] == Move::None ? 2 : 1;
    }
  }
  if (!lanes)
    return std::nullopt;
  const size_t left = 3 - right;
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    if (moves[k][0] == Move::None)
      p.depth.push_back(k);
    else if (facts.is_parallel[k] && moves[k][left] != Move::None &&
             moves[k][right] == Move::None && (!rows || facts.extents[k] > facts.extents[*rows]))
      rows = k;
  }
  if (!rows || p.depth.empty())
    return std::nullopt;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (moves[k][0] != Move::None && k != *lanes && k != *rows) {
      if (!facts.is_parallel[k])
        return std::nullopt;
      p.outer.push_back(k);
    }
  p.lanes = *lanes;
  p.rows = *rows;
  p.result = text.tensor;
  p.left = loaded[left - 1];
  p.right = loaded[right - 1];
  const int64_t vector = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  const int64_t work = p.extents[*rows] * p.extents[*lanes] * product_over(p.extents, p.depth);
  if (p.extents[*lanes] < 2 * vector || p.extents[*rows] < 4 || work < kWorthPacking)
    return std::nullopt;
  return p;
}

std::optional<Companion> companion_of(const Schedule& schedule, const Nest& nest,
                                      const Product& p) {
  if (nest.statements.size() != 1)
    return std::nullopt;
  const StmtId id = nest.statements.front();
  const auto& of_product = schedule.scop[p.update()].text;
  const auto& text = schedule.scop[id].text;
  const std::vector<Expr>* cell = text.tensor == p.result ? &text.index : nullptr;
  scalar::visit(text.value, [&](const Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e); load != nullptr && load->tensor == p.result)
      cell = &load->index;
  });
  if (cell == nullptr)
    return std::nullopt;
  // The companion's loop that walks the same dimension of the result as the product's loop does.
  const auto loop_like = [&](size_t position) -> std::optional<LoopId> {
    const Expr& row = schedule.order.rows[p.update().value][p.nest.depth + position];
    for (size_t d = 0; d < of_product.index.size(); ++d) {
      if (!scalar::equal(of_product.index[d], row))
        continue;
      for (size_t k = 0; k < nest.loops.size(); ++k)
        if (scalar::equal(schedule.order.rows[id.value][nest.depth + k], (*cell)[d]))
          return nest.loops[k];
    }
    return std::nullopt;
  };
  Companion companion{id, nest.loops.front(), {}};
  std::vector<size_t> positions = p.outer;
  positions.push_back(p.lanes);
  positions.push_back(p.rows);
  for (const size_t position : positions) {
    const auto loop = loop_like(position);
    if (!loop)
      return std::nullopt;
    companion.loops.push_back(*loop);
  }
  return companion.loops.size() == nest.loops.size() ? std::optional(companion) : std::nullopt;
}

std::vector<Directive> product_plan(const Schedule& schedule, const Product& p,
                                    const std::vector<Companion>& before,
                                    const std::vector<Companion>& after,
                                    const Environment& environment, bool may_be_parallel) {
  return Planner(schedule, p, environment, may_be_parallel).plan(before, after);
}

Directive keep_tile_in_registers(const Schedule& schedule, const Product& p) {
  // The innermost loop that the product shares with its companions: the one above the reduction.
  const std::vector<LoopId> path = poly::path_of(schedule.order, p.update());
  const size_t inner = p.depth.size() + 2;
  const LoopId tile = path[path.size() - inner - 1];
  return StoreAt{schedule.scop.tensors[p.result].name,
                 {schedule.scop[p.update()].text.name, schedule.order[tile].name}};
}

bool runs_in_one_go(const Schedule& schedule, const Product& p, const Environment& environment) {
  return cuts_of(schedule, p, environment).depth_part == 0;
}

} // namespace kawara::schedule
