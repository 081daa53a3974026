#include "schedule/auto/product/block_tiles.h"

#include "schedule/auto/facts/function_latency.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/legality/require_legal.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "schedule/unproved.h"
#include "target/cpu.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using poly::TreeNode;

namespace {

/// A product of two operands: which of the innermost three loops does what.
struct BlockProduct {
  StmtId update;
  LoopId lanes, rows, depth;
  std::optional<uint32_t> left;  ///< moves along the rows, in place along the lanes
  std::optional<uint32_t> right; ///< moves along the lanes
};

/// The tiles of a product that registers hold, and the loops over them.
struct Tiling {
  int64_t rows = 0, lanes = 0;
  bool has_lanes_outside = true;
  LoopName outer, inner;
};

/// The loops of a nest that has been split into tiles.
struct TileLoops {
  LoopName row_tiles, lane_tiles, row, lane;
};

class BlockTiler {
public:
  /// `is_proved`: every step by itself, so that one which is refused can be left out.
  BlockTiler(Schedule& schedule, LoopId outermost, LoopId rows, LoopId block, bool copies_before,
             bool is_proved, const Environment& environment)
      : schedule_(schedule), outermost_(outermost), rows_(rows), block_(block),
        copies_before_(copies_before), is_proved_(is_proved), environment_(environment) {}

  void tile() {
    std::vector<LoopId> nests;
    collect(*poly::find_node(schedule_.order, rows_), nests);
    std::set<LoopId> done;
    for (size_t n = 0; n < nests.size(); ++n) {
      const auto product = product_of(*perfect_nest_at(schedule_.order, nests[n]));
      const auto tiling = product ? tile_product(*product) : std::nullopt;
      if (!tiling)
        continue;
      done.insert(nests[n]);
      const auto start = start_of(*product, nests, n);
      if (start && start_tile(*tiling, *start))
        done.insert(*start);
    }
    for (const LoopId loop : nests)
      if (!done.contains(loop))
        improve(*perfect_nest_at(schedule_.order, loop));
  }

private:
  void collect(const TreeNode& node, std::vector<LoopId>& nests) const {
    for (const TreeNode& child : node.body) {
      if (!child.is_loop())
        continue;
      if (perfect_nest_at(schedule_.order, child.loop()))
        nests.push_back(child.loop());
      else
        collect(child, nests);
    }
  }

  void improve(const Nest& nest) {
    const NestFacts facts = facts_of(schedule_, nest);
    const size_t n = nest.loops.size();
    const auto walks = [&](size_t k) { return k < n && facts.strides[k].far == 0; };
    const size_t last = n - 1;
    size_t v = last;
    if (n > 1 && !(walks(last) && facts.is_parallel[last]) && walks(last - 1) &&
        facts.is_parallel[last - 1])
      v = last - 1;
    if (!walks(v))
      return;
    const std::string& statement = schedule_.scop[nest.statements.front()].text.name;
    const LoopName lane{statement, schedule_.order[nest.loops[v]].name};
    if (v == last) {
      // A reduction in lanes needs several vectors to hide the latency of its operation.
      const int64_t vectors = facts.is_parallel[last] ? vectors_along(nest, last) : 4;
      try_all({Vectorize{lane, vectors * lanes()}});
      return;
    }
    const LoopName inner{statement, schedule_.order[nest.loops[last]].name};
    if (facts.is_parallel[last]) {
      try_all({Reorder{{inner, lane}}, Vectorize{lane, vectors_along(nest, v) * lanes()}});
      return;
    }
    const LoopName tiles{statement, lane.loop + ".0"}, points{statement, lane.loop + ".1"};
    try_all({Split{lane, 8 * lanes()}, Reorder{{tiles, inner, points}}, Vectorize{points, lanes()},
             Unroll{points, std::nullopt}});
  }

  /// Vectors side by side of what has no other to wait for: enough for its functions, as far as
  /// they divide the loop.
  int64_t vectors_along(const Nest& nest, size_t loop) const {
    int64_t vectors = 2;
    for (const StmtId id : nest.statements)
      vectors = std::max(vectors, vectors_of_functions(schedule_, id, environment_.cpu, lanes()));
    const int64_t run = known_run(schedule_.scop, schedule_.order, nest.loops[loop]).value_or(0);
    while (vectors > 2 && run % (vectors * lanes()) != 0)
      --vectors;
    return vectors;
  }

  std::optional<BlockProduct> product_of(const Nest& nest) const {
    const size_t n = nest.loops.size();
    if (n < 3 || nest.statements.size() != 1)
      return std::nullopt;
    const StmtId id = nest.statements.front();
    const program::Statement& text = schedule_.scop[id].text;
    if (text.op != scalar::ReduceOp::Sum)
      return std::nullopt;
    BlockProduct product;
    product.update = id;
    std::optional<size_t> lanes, rows, depth;
    const AccessTable table = access_table(schedule_, nest);
    for (size_t k = n - 3; k < n; ++k) {
      const Move write = table.front().moves[k];
      (write == Move::Unit ? lanes : write == Move::Far ? rows : depth) = k;
    }
    if (!lanes || !rows || !depth)
      return std::nullopt;
    product.lanes = nest.loops[*lanes];
    product.rows = nest.loops[*rows];
    product.depth = nest.loops[*depth];
    for (const LoopAccess& access : table)
      if (!access.is_write && !access.stays(*lanes))
        product.right = access.tensor;
      else if (!access.is_write && !access.stays(*rows))
        product.left = access.tensor;
    return product.left && product.right ? std::optional(product) : std::nullopt;
  }

  /// As many rows and lanes as registers hold.
  Tiling tiling_of(const BlockProduct& product) const {
    const bool has_many = environment_.cpu.vector_registers >= 32;
    const int64_t width = known_run(schedule_.scop, schedule_.order, product.lanes).value_or(0);
    const int64_t height = known_run(schedule_.scop, schedule_.order, product.rows).value_or(0);
    const int64_t vectors = has_many && width % (3 * lanes()) == 0 ? 3 : 2;
    const int64_t rows = !has_many ? 4 : vectors == 2 && height % 12 == 0 ? 12 : 8;
    return {rows, vectors * lanes(), !schedule_.scop.tensors[*product.left].private_dims, {}, {}};
  }

  TileLoops tile_loops(StmtId id, LoopId rows, LoopId lanes) const {
    const std::string& statement = schedule_.scop[id].text.name;
    const std::string &row = schedule_.order[rows].name, &lane = schedule_.order[lanes].name;
    return {{statement, row + ".0"},
            {statement, lane + ".0"},
            {statement, row + ".1"},
            {statement, lane + ".1"}};
  }

  static std::pair<LoopName, LoopName> order_of(const Tiling& tiling, const TileLoops& loops) {
    return tiling.has_lanes_outside ? std::pair(loops.lane_tiles, loops.row_tiles)
                                    : std::pair(loops.row_tiles, loops.lane_tiles);
  }

  /// Tiles of rows and lanes in registers along the whole depth, operands in the order of their
  /// use. The tiles of one part of the block's rows follow each other: what they read of a temp of
  /// the block is little.
  std::optional<Tiling> tile_product(const BlockProduct& product) {
    Tiling tiling = tiling_of(product);
    const LoopName depth = name_in(product.update, product.depth);
    const TileLoops loops = tile_loops(product.update, product.rows, product.lanes);
    std::tie(tiling.outer, tiling.inner) = order_of(tiling, loops);
    if (!try_all({Split{name_in(product.update, product.rows), tiling.rows},
                  Split{name_in(product.update, product.lanes), tiling.lanes},
                  Reorder{{tiling.outer, tiling.inner, depth, loops.row, loops.lane}}}))
      return std::nullopt;
    pack(product);
    const bool is_marked = try_all({Unroll{loops.row, std::nullopt}, Vectorize{loops.lane, lanes()},
                                    Unroll{loops.lane, std::nullopt}});
    return is_marked ? std::optional(tiling) : std::nullopt;
  }

  /// The last of these nests that gives the product's elements the values which it adds to.
  std::optional<LoopId> start_of(const BlockProduct& product, const std::vector<LoopId>& nests,
                                 size_t count) const {
    const uint32_t tensor = schedule_.scop[product.update].text.tensor;
    while (count-- > 0) {
      const auto nest = perfect_nest_at(schedule_.order, nests[count]);
      if (nest && nest->statements.size() == 1 && nest->loops.size() == 2 &&
          schedule_.scop[nest->statements.front()].text.tensor == tensor)
        return nests[count];
    }
    return std::nullopt;
  }

  /// Runs it tile by tile with the product, whose elements are then in registers from the
  /// beginning.
  bool start_tile(const Tiling& tiling, LoopId start) {
    const Nest nest = *perfect_nest_at(schedule_.order, start);
    const StmtId id = nest.statements.front();
    const bool ends_with_lanes = access_table(schedule_, nest).front().moves[1] == Move::Unit;
    const LoopId rows = nest.loops[ends_with_lanes ? 0 : 1];
    const LoopId across = nest.loops[ends_with_lanes ? 1 : 0];
    const TileLoops loops = tile_loops(id, rows, across);
    const auto [outer, inner] = order_of(tiling, loops);
    return try_all({Split{name_in(id, rows), tiling.rows}, Split{name_in(id, across), tiling.lanes},
                    Reorder{{outer, inner, loops.row, loops.lane}}, Fuse{outer, tiling.outer},
                    Fuse{inner, tiling.inner}, Unroll{loops.row, std::nullopt},
                    Vectorize{loops.lane, lanes()}, Unroll{loops.lane, std::nullopt}});
  }

  /// Each operand once for as many blocks as read the same of it. A temp of the block stays as it
  /// is.
  void pack(const BlockProduct& product) {
    for (const uint32_t tensor : {*product.left, *product.right}) {
      const program::Tensor& operand = schedule_.scop.tensors[tensor];
      if (operand.private_dims > 0)
        continue;
      const bool is_by_row = moves_along(product.update, tensor, rows_);
      const bool is_alone = outermost_ == rows_;
      const bool is_before = !is_by_row && (is_alone || copies_before_);
      if (is_before && try_all({Pack{operand.name, std::nullopt, {}}}))
        continue;
      try_all({Pack{operand.name, name(is_by_row ? rows_ : is_alone ? block_ : outermost_)}});
    }
  }

  /// Whether a loop around the statement changes which elements of the tensor it reads.
  bool moves_along(StmtId id, uint32_t tensor, LoopId loop) const {
    const program::Statement& text = schedule_.scop[id].text;
    const scalar::Expr& row =
        schedule_.order.rows[id.value][*poly::depth_of(schedule_.order, loop)];
    std::set<uint32_t> moved;
    scalar::visit(row, [&](const scalar::Expr& e) {
      if (const auto* it = scalar::as<scalar::Iter>(e))
        moved.insert(it->index);
    });
    bool found = false;
    scalar::visit(text.value, [&](const scalar::Expr& e) {
      const auto* load = scalar::as<scalar::Load>(e);
      if (load == nullptr || load->tensor != tensor)
        return;
      for (const scalar::Expr& index : load->index)
        scalar::visit(index, [&](const scalar::Expr& node) {
          const auto* it = scalar::as<scalar::Iter>(node);
          found = found || (it != nullptr && is_block_of(id, it->index, moved));
        });
    });
    return found;
  }

  /// The iterator runs inside the blocks that the moved iterators count: both change together.
  bool is_block_of(StmtId id, uint32_t iterator, const std::set<uint32_t>& moved) const {
    if (moved.contains(iterator))
      return true;
    const isl::set& domain = schedule_.scop[id].domain;
    for (const uint32_t block : moved) {
      std::vector<scalar::Expr> key{scalar::iter(iterator)}, value{scalar::iter(block)};
      if (map_of(key, domain, schedule_.scop.params)
              .reverse()
              .apply_range(map_of(value, domain, schedule_.scop.params))
              .is_single_valued())
        return true;
    }
    return false;
  }

  LoopName name_in(StmtId id, LoopId loop) const {
    return {schedule_.scop[id].text.name, schedule_.order[loop].name};
  }
  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }

  int64_t lanes() const {
    int64_t bytes = 1;
    for (const program::Tensor& tensor : schedule_.scop.tensors)
      bytes = std::max(bytes, scalar::bytes_of(scalar::compute_type(tensor.elem)));
    return target::vector_lanes(environment_.cpu, bytes);
  }

  bool try_all(const std::vector<Directive>& plan) {
    auto result = is_proved_ ? apply(schedule_, Group{plan}, environment_)
                             : unproved(schedule_, {Group{plan}}, environment_);
    if (!result)
      return false;
    schedule_ = *std::move(result);
    return true;
  }

  Schedule& schedule_;
  LoopId outermost_, rows_, block_;
  bool copies_before_, is_proved_;
  const Environment& environment_;
};

/// All steps as one directive; nothing when some step would have to be left out.
std::optional<Schedule> tiled_at_once(const Schedule& schedule, LoopId outermost, LoopId rows,
                                      LoopId block, bool copies_before,
                                      const Environment& environment) {
  Schedule tiled = schedule;
  const bool finished = poly::within_quota(*schedule.scop.context_owner, environment.quota, [&] {
    BlockTiler(tiled, outermost, rows, block, copies_before, false, environment).tile();
  });
  if (!finished)
    return std::nullopt;
  std::vector<Directive> steps(tiled.applied.begin() +
                                   static_cast<std::ptrdiff_t>(schedule.applied.size()),
                               tiled.applied.end());
  const Proposal proposal{tiled.scop, tiled.order};
  auto proved = require_legal(schedule, proposal, Group{std::move(steps)}, environment);
  if (!proved)
    return std::nullopt;
  proved->applied = std::move(tiled.applied);
  return *std::move(proved);
}

} // namespace

void tile_blocks(Schedule& schedule, LoopId outermost, LoopId rows, LoopId block,
                 bool copies_before, const Environment& environment) {
  // Nearly all of the time goes to proofs, and one is enough when it succeeds.
  if (auto tiled = tiled_at_once(schedule, outermost, rows, block, copies_before, environment)) {
    schedule = *std::move(tiled);
    return;
  }
  BlockTiler(schedule, outermost, rows, block, copies_before, true, environment).tile();
}

} // namespace kawara::schedule
