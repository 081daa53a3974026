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

/// Storing a cell, storing it across lanes, and copying one, in vector multiply-adds.
constexpr double kStore = 0.5;
constexpr double kStridedStore = 4.0;
constexpr double kCopy = 1.5;
/// Loops of at most this many iterations around the innermost are unrolled whole.
constexpr int64_t kShort = 4;
/// Assumed where an extent depends on parameters: large, so that buffers stay within their caches.
constexpr int64_t kUnknownDepth = 2048;
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
class ProductPlanner {
public:
  ProductPlanner(const Schedule& schedule, const Product& p, const Environment& environment,
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
    unroll_depth(update);
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

  /// The innermost reduction loop four times over; a short one whole, with the one around it.
  void unroll_depth(const std::string& update) {
    const size_t last = p_.depth.back();
    if (p_.extents[last] > kShort || p_.depth.size() == 1)
      return add(Unroll{{update, innermost_depth()}, 4});
    add(Unroll{{update, innermost_depth()}, std::nullopt});
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
    const auto pack_one = [&](uint32_t tensor, bool is_whole, const std::string& at,
                              const std::string& cells) {
      Pack pack{schedule_.scop.tensors[tensor].name, std::nullopt};
      if (!is_whole)
        pack.loop = LoopName{statement, at};
      add(std::move(pack));
      return std::pair("S" + std::to_string(number++), cells + ".1.1");
    };
    if (p_.left == p_.right)
      return;
    if (uses(p_.rows, p_.right_stays) >= kWorthCopying) {
      const auto [copy, cells] =
          pack_one(p_.right, p_.right_stays,
                   is_cut ? own(cuts_.deepest) + ".0" : own(p_.lanes) + ".0", own(p_.lanes));
      right_copy_ = p_.right_stays ? "" : copy;
      add(Vectorize{{copy, cells}, cuts_.lanes});
      add(Unroll{{copy, cells}, std::nullopt});
    }
    // One row lies in reading order already.
    if (p_.extents[p_.rows] > 1 && !p_.left_has_window &&
        uses(p_.lanes, p_.left_stays) >= kWorthCopying * cuts_.lanes) {
      const auto [copy, cells] =
          pack_one(p_.left, p_.left_stays, own(p_.rows) + ".0", own(p_.rows));
      add(Unroll{{copy, cells}, std::nullopt});
    }
  }

  /// How often each cell of an operand is used: along `position`, and along the outer loops where it
  /// stays.
  int64_t uses(size_t position, bool stays) const {
    return p_.extents[position] *
           (stays ? std::max(product_over(p_.extents, p_.outer), kWorthCopying * cuts_.lanes) : 1);
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

/// Moves of the write and of the two loads along each loop of the nest.
using Moves = std::vector<std::vector<Move>>;

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
    }
  p.lanes = lanes;
  p.rows = *rows;
  p.has_strided_lanes = moves[lanes][0] != Move::Unit;
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
  const RegisterTile tile =
      register_tile(environment.cpu, lanes, p.extents[p.rows], p.extents[p.lanes]);
  const double store = rows * columns * (p.has_strided_lanes ? kStridedStore : kStore);
  const double right_copies = p.right_stays ? 0 : columns * depth * kCopy;
  const double left_copies = p.left_stays || p.left_has_window ? 0 : rows * depth * kCopy;
  return depth * tile_steps(tile, lanes, p.extents[p.rows], p.extents[p.lanes]) + store +
         right_copies + left_copies;
}

/// Some index of the tensor adds a loop of the result to one that reduces: neighbouring results read
/// the same cells, and a copy in reading order would hold each several times.
bool has_window(const Schedule& schedule, const Product& p, uint32_t tensor) {
  const std::vector<Expr>& rows = schedule.order.rows[p.update().value];
  const auto mentions_row = [&](const Expr& e, size_t position) {
    bool found = false;
    scalar::visit(e, [&](const Expr& n) {
      found = found || scalar::equal(n, rows[p.nest.depth + position]);
    });
    return found;
  };
  std::vector<size_t> of_result = p.outer;
  of_result.push_back(p.rows);
  of_result.push_back(p.lanes);
  bool found = false;
  scalar::visit(schedule.scop[p.update()].text.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || load->tensor != tensor)
      return;
    for (const Expr& index : load->index) {
      const auto any = [&](const std::vector<size_t>& positions) {
        return std::any_of(positions.begin(), positions.end(),
                           [&](size_t k) { return mentions_row(index, k); });
      };
      found = found || (any(of_result) && any(p.depth));
    }
  });
  return found;
}

} // namespace

std::optional<Product> product_of(const Schedule& schedule, const Nest& nest,
                                  const NestFacts& facts, const Environment& environment) {
  if (nest.statements.size() != 1 || facts.fixed != 0)
    return std::nullopt;
  Product p;
  p.nest = nest;
  p.extents = facts.extents;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (!longest_run(schedule.scop, schedule.order, nest.loops[k]))
      p.extents[k] = kUnknownDepth;
  const program::Statement& text = schedule.scop[p.update()].text;
  const std::vector<uint32_t> loaded = loaded_tensors(text);
  if (text.op == scalar::ReduceOp::None || loaded.size() != 2)
    return std::nullopt;
  Moves moves;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    moves.push_back(moves_of(schedule.scop, schedule.order, p.update(), nest.depth + k));
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
    if (!best || cost_of(schedule, *other, environment) < cost_of(schedule, *best, environment))
      best = std::move(other);
  }
  return best;
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
  return ProductPlanner(schedule, p, environment, may_be_parallel).plan(before, after);
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
