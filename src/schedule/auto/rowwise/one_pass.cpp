#include "schedule/auto/rowwise/one_pass.h"

#include "schedule/auto/facts/distribution.h"
#include "schedule/auto/facts/nest_facts.h"
#include "schedule/auto/product/block_tiles.h"
#include "schedule/auto/rowwise/softmax_chain.h"
#include "schedule/tree/arrangement.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/unproved.h"
#include "target/cpu.h"

#include <algorithm>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// Rows and reduced elements of a block: tiles of a few registers divide both, two temps of such a
/// block fit the L1, and the rows are enough for the chains of exp that hide each other's latency
/// (schedule/auto/facts/function_latency.h).
ChainBlocks blocks_for(const target::Cpu& cpu) {
  constexpr int64_t kChains = 8;
  const bool is_narrow = kChains * target::vector_lanes(cpu, 4) <= 32;
  return is_narrow ? ChainBlocks{32, 128} : ChainBlocks{64, 96};
}
/// A chain that stores more than a cache holds is worth a single pass; there are two such temps,
/// what the maximum is taken of and the exponentials.
constexpr int64_t kLargeTemps = 2;
/// A program with more statements is left to the other plans: looking for chains costs proofs.
constexpr size_t kMostStatements = 40;

/// Arithmetic that costs less than a trip through memory.
bool is_cheap(const Expr& value) {
  int operations = 0;
  scalar::visit(value, [&](const Expr& e) {
    if (const auto* u = scalar::as<scalar::Unary>(e))
      operations += u->op == scalar::UnaryOp::Neg ? 1 : 8;
    if (const auto* b = scalar::as<scalar::Binary>(e))
      operations += b->lhs.type() == scalar::kIndex ? 0 : 1;
  });
  return operations <= 2;
}

bool is_narrow(scalar::Elem elem) {
  return elem == scalar::Elem::BF16 || elem == scalar::Elem::F16;
}

class OnePassBuilder {
public:
  OnePassBuilder(const Schedule& schedule, const Environment& environment, const ChainBlocks& sizes)
      : schedule_(schedule), environment_(environment), sizes_(sizes) {}

  std::optional<JoinedChain> joined(int64_t bytes) {
    for (const LoopId loop : child_loops(schedule_.order.body))
      distribute_all(schedule_, loop);
    inline_cheap_maps(true);
    auto chain = reduction_chain(schedule_, bytes);
    if (!chain)
      return std::nullopt;
    chain_ = *std::move(chain);
    has_one_block_ = has_one_block();
    arrange();
    if (!std::holds_alternative<poly::Legal>(
            poly::judge(schedule_.scop, schedule_.order, environment_.quota)) ||
        !join_members() || !move_producers())
      return std::nullopt;
    JoinedChain result{{}, chain_, {}, block_loop_};
    const std::vector<LoopId> path = poly::path_of(schedule_.order, chain_.maximum);
    result.rows.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(depth()));
    result.schedule = std::move(schedule_);
    return result;
  }

  std::optional<OnePass> result() {
    for (const LoopId loop : child_loops(schedule_.order.body))
      distribute_all(schedule_, loop);
    inline_cheap_maps(false);
    auto chain = reduction_chain(schedule_, environment_.cpu.caches.l2 / kLargeTemps);
    if (!chain)
      return std::nullopt;
    chain_ = *std::move(chain);
    arrange();
    if (!std::holds_alternative<poly::Legal>(
            poly::judge(schedule_.scop, schedule_.order, environment_.quota)))
      return std::nullopt;
    if (!join_members() || !move_producers())
      return std::nullopt;
    put_rows_last();
    tile_blocks(schedule_, outermost(), row_loop_, block_loop_, !is_even(), environment_);
    run_in_parallel();
    const LoopId whole = outermost();
    return OnePass{std::move(schedule_), {whole}};
  }

private:
  const program::Statement& text(StmtId id) const { return schedule_.scop[id].text; }
  LoopName name(LoopId loop) const { return name_of_loop(schedule_.scop, schedule_.order, loop); }

  bool try_all(const std::vector<Directive>& plan) {
    auto result = apply(schedule_, Group{plan}, environment_);
    if (!result)
      return false;
    schedule_ = *std::move(result);
    return true;
  }

  void inline_cheap_maps(bool keeps_narrow) {
    for (uint32_t s = 0; s < schedule_.scop.statements.size(); ++s) {
      const poly::ScopStatement& own = schedule_.scop.statements[s];
      if (!own.is_removed && own.text.op == scalar::ReduceOp::None && own.text.index.size() > 1 &&
          schedule_.scop.tensors[own.text.tensor].role == program::Role::Temp &&
          !(keeps_narrow && is_narrow(schedule_.scop.tensors[own.text.tensor].elem)) &&
          is_cheap(own.text.value))
        try_all({Inline{own.text.name}});
    }
  }

  bool is_member(StmtId id) const {
    return std::find(chain_.members.begin(), chain_.members.end(), id) != chain_.members.end();
  }
  bool is_producer(StmtId id) const {
    return std::find(chain_.producers.begin(), chain_.producers.end(), id) !=
           chain_.producers.end();
  }

  /// All that belongs to the chain inside the same loops over blocks of rows; members and producers
  /// also inside loops over blocks of the reduced index.
  void arrange() {
    for (const auto& [id, role] : chain_.roles)
      iterators_before_[id] = text(id).iters.size();
    Order blocks = order_of_blocks();
    if (!put_by_directives(blocks))
      schedule_.order = std::move(blocks);
    row_loop_ = loop_around(chain_.maximum, depth() - 1);
  }

  /// Splits, then an arrangement of what they made.
  bool put_by_directives(const Order& blocks) {
    std::vector<Directive> splits;
    for (const auto& [id, role] : chain_.roles) {
      const auto split = [&, statement = id](uint32_t d, int64_t size) {
        splits.emplace_back(Split{{text(statement).name, text(statement).iters[d]}, size});
      };
      split(role.rows.back(), sizes_.rows);
      if (role.reduced)
        split(*role.reduced, sizes_.reduced);
    }
    const auto split = unproved(schedule_, splits, environment_);
    const auto arrangement =
        split ? arrangement_of(split->scop, split->order, blocks) : std::nullopt;
    auto made = arrangement ? unproved(*split, {*arrangement}, environment_) : split;
    if (!arrangement || !made)
      return false;
    schedule_ = *std::move(made);
    return true;
  }

  /// Whether no row has more reduced elements than a block.
  bool has_one_block() const {
    const std::vector<Expr>& rows = schedule_.order.rows[chain_.maximum.value];
    const ChainRole& model = chain_.roles.at(chain_.maximum);
    for (size_t d = 0; d < rows.size(); ++d)
      if (const auto* it = scalar::as<scalar::Iter>(rows[d]);
          it != nullptr && it->index == model.reduced) {
        const auto run = known_run(schedule_.scop, schedule_.order, loop_around(chain_.maximum, d));
        return run && *run <= sizes_.reduced;
      }
    return false;
  }

  Order order_of_blocks() const {
    Order order = schedule_.order;
    const ChainRole& model = chain_.roles.at(chain_.maximum);
    const program::Statement& maximum = text(chain_.maximum);
    TreeNode* innermost = nullptr;
    TreeNode group;
    for (size_t r = 0; r < model.rows.size(); ++r) {
      const std::string row = maximum.iters[model.rows[r]];
      const bool is_last = r + 1 == model.rows.size();
      const LoopId loop = poly::add_loop(order, is_last ? row + ".0" : row, maximum.where);
      if (innermost == nullptr) {
        group = TreeNode{loop, {}};
        innermost = &group;
      } else {
        innermost->body.push_back(TreeNode{loop, {}});
        innermost = &innermost->body.back();
      }
    }
    std::vector<TreeNode> body;
    size_t last = 0;
    for (TreeNode& node : order.body) {
      const std::vector<StmtId> below = poly::statements_below(node);
      const bool is_alone = below.size() == 1;
      if (is_alone && is_producer(below.front()))
        body.push_back(tiled_nest(order, below.front(), 0));
      else if (is_alone && chain_.roles.contains(below.front())) {
        const StmtId id = below.front();
        const bool shares_block = has_one_block_ && chain_.roles.at(id).reduced;
        innermost->body.push_back(
            tiled_nest(order, id, model.rows.size() + (shares_block ? 1 : 0)));
        last = body.size();
      } else
        body.push_back(std::move(node));
    }
    if (has_one_block_)
      share_one_block(order, innermost->body);
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(last), std::move(group));
    order.body = std::move(body);
    return order;
  }

  /// One loop over the only block of reduced elements around all that has one; what starts the sums
  /// goes before it.
  void share_one_block(Order& order, std::vector<TreeNode>& nests) const {
    const program::Statement& maximum = text(chain_.maximum);
    const std::string reduced = maximum.iters[*chain_.roles.at(chain_.maximum).reduced];
    TreeNode block{poly::add_loop(order, reduced + ".0", maximum.where), {}};
    const auto is_inside = [&](const TreeNode& nest) {
      return chain_.roles.at(poly::statements_below(nest).front()).reduced.has_value();
    };
    const auto last = std::find_if(nests.rbegin(), nests.rend(), is_inside).base();
    std::vector<TreeNode> result;
    for (auto nest = nests.begin(); nest != last; ++nest)
      (is_inside(*nest) ? block.body : result).push_back(std::move(*nest));
    result.push_back(std::move(block));
    std::move(last, nests.end(), std::back_inserter(result));
    nests = std::move(result);
  }

  /// The statement inside loops [rows, block of rows, block of reduced, row, reduced, others]; the
  /// first `shared` of them stand around it already.
  TreeNode tiled_nest(Order& order, StmtId id, size_t shared) const {
    const ChainRole& role = chain_.roles.at(id);
    std::vector<LoopId> loops;
    std::vector<Expr>& rows = order.rows[id.value];
    rows.clear();
    const auto add = [&](const std::string& loop_name, const Expr& row, int64_t tile_size) {
      rows.push_back(row);
      if (rows.size() <= shared)
        return;
      loops.push_back(poly::add_loop(order, loop_name, text(id).where));
      order[loops.back()].tile_size = tile_size;
    };
    const auto block = [&](uint32_t d, int64_t size) {
      add(text(id).iters[d] + ".0",
          scalar::binary(BinaryOp::FloorDiv, scalar::iter(d), scalar::int_lit(size)), 0);
    };
    const auto point = [&](uint32_t d, int64_t size) {
      add(text(id).iters[d] + ".1",
          scalar::binary(BinaryOp::Mod, scalar::iter(d), scalar::int_lit(size)), size);
    };
    for (size_t r = 0; r + 1 < role.rows.size(); ++r)
      add(text(id).iters[role.rows[r]], scalar::iter(role.rows[r]), 0);
    block(role.rows.back(), sizes_.rows);
    if (role.reduced)
      block(*role.reduced, sizes_.reduced);
    point(role.rows.back(), sizes_.rows);
    if (role.reduced)
      point(*role.reduced, sizes_.reduced);
    for (uint32_t d = 0; d < text(id).iters.size(); ++d)
      if (d != role.reduced && std::find(role.rows.begin(), role.rows.end(), d) == role.rows.end())
        add(text(id).iters[d], scalar::iter(d), 0);
    TreeNode node{id, {}};
    for (size_t k = loops.size(); k-- > 0;)
      node = TreeNode{loops[k], {std::move(node)}};
    return node;
  }

  LoopId loop_around(StmtId id, size_t depth) const {
    return poly::path_of(schedule_.order, id)[depth];
  }
  size_t depth() const { return chain_.roles.at(chain_.maximum).rows.size(); }

  bool join_members() {
    if (has_one_block_) {
      block_loop_ = loop_around(chain_.maximum, depth());
      return keep_maps_in_block();
    }
    Online online;
    for (const StmtId id : chain_.members)
      online.loops.push_back({text(id).name, schedule_.order[loop_around(id, depth())].name});
    if (!try_all({online}))
      return false;
    block_loop_ = loop_around(chain_.maximum, depth());
    return true;
  }

  /// Temps that hold an element for each of the block, as `online` would keep them.
  bool keep_maps_in_block() {
    std::set<uint32_t> kept;
    std::vector<Directive> plan;
    for (const StmtId id : chain_.members)
      if (text(id).op == scalar::ReduceOp::None && kept.insert(text(id).tensor).second &&
          schedule_.scop.tensors[text(id).tensor].role == program::Role::Temp)
        plan.emplace_back(StoreAt{schedule_.scop.tensors[text(id).tensor].name, name(block_loop_)});
    return plan.empty() || try_all(plan);
  }

  /// The last producers first: what they read is then inside as well.
  bool move_producers() {
    std::set<uint32_t> moved;
    for (auto id = chain_.producers.rbegin(); id != chain_.producers.rend(); ++id) {
      if (!moved.insert(text(*id).tensor).second)
        continue;
      if (!try_all({ComputeAt{text(*id).name, name(block_loop_)}}))
        return false;
    }
    return true;
  }

  /// Temps of a block lie with their rows side by side: reductions along the other index then need
  /// no step across lanes, and products find the rows of a tile together.
  void put_rows_last() {
    std::set<uint32_t> transposed;
    for (const auto& [id, role] : chain_.roles) {
      const program::Statement& own = text(id);
      const size_t rank = own.index.size();
      const bool is_local = role.reduced && (is_producer(id) || own.op == scalar::ReduceOp::None);
      if (!is_local || rank < 2 || !mentions(own.index[rank - 1], *role.reduced, id) ||
          !mentions(own.index[rank - 2], role.rows.back(), id))
        continue;
      transposed.insert(own.tensor);
    }
    for (const uint32_t tensor : transposed)
      swap_last_two(tensor);
  }

  /// The index is the iterator that had this number before blocks and copies put others in front of
  /// it.
  bool mentions(const Expr& index, uint32_t iterator, StmtId id) const {
    const auto* it = scalar::as<scalar::Iter>(index);
    const size_t added = text(id).iters.size() - iterators_before_.at(id);
    return it != nullptr && it->index == iterator + added;
  }

  void swap_last_two(uint32_t tensor) {
    const program::Tensor& own = schedule_.scop.tensors[tensor];
    const auto rank = static_cast<int64_t>(own.shape.size() - own.private_dims);
    Layout layout{own.name, {}};
    for (int64_t d = 0; d < rank; ++d)
      layout.parts.push_back({d < rank - 2 ? d : d == rank - 2 ? rank - 1 : rank - 2});
    try_all({layout});
  }

  LoopId outermost() const { return loop_around(chain_.maximum, 0); }

  /// Whether the outermost loop has work for all threads.
  bool is_even() const {
    const auto count = known_run(schedule_.scop, schedule_.order, outermost());
    const int64_t cores = environment_.cpu.cores;
    return !count || *count % cores == 0 || *count >= 4 * cores;
  }

  /// Threads share the outermost loop when it has work for all of them, else all blocks of rows.
  void run_in_parallel() {
    if (is_even() || outermost() == row_loop_ || !share_blocks())
      try_all({Parallel{name(outermost())}});
  }

  /// All of them at once, or those of one iteration of the loops around.
  bool share_blocks() {
    std::vector<Directive> plan;
    const std::string& statement = text(chain_.maximum).name;
    LoopName whole{statement, schedule_.order[outermost()].name};
    for (size_t d = 1; d < depth(); ++d) {
      const std::string inner = schedule_.order[loop_around(chain_.maximum, d)].name;
      plan.emplace_back(Coalesce{whole, {statement, inner}});
      whole.loop += "_" + inner;
    }
    plan.emplace_back(Parallel{whole});
    return try_all(plan) || try_all({Parallel{name(row_loop_)}});
  }

  Schedule schedule_;
  const Environment& environment_;
  ChainBlocks sizes_;
  ReductionChain chain_;
  std::map<StmtId, size_t> iterators_before_;
  LoopId row_loop_, block_loop_;
  bool has_one_block_ = false; ///< of reduced elements: nothing is corrected between two blocks
};

} // namespace

std::optional<OnePass> one_pass(const Schedule& schedule, const Environment& environment) {
  if (schedule.scop.numerics == program::Numerics::Exact ||
      schedule.scop.statements.size() > kMostStatements)
    return std::nullopt;
  const bool has_extreme =
      std::any_of(schedule.scop.statements.begin(), schedule.scop.statements.end(),
                  [](const poly::ScopStatement& s) {
                    return !s.is_removed && (s.text.op == scalar::ReduceOp::Max ||
                                             s.text.op == scalar::ReduceOp::Min);
                  });
  return has_extreme ? OnePassBuilder(schedule, environment, blocks_for(environment.cpu)).result()
                     : std::nullopt;
}

std::optional<JoinedChain> join_chain(const Schedule& schedule, const Environment& environment,
                                      const ChainBlocks& blocks, int64_t bytes) {
  if (schedule.scop.numerics == program::Numerics::Exact ||
      schedule.scop.statements.size() > kMostStatements)
    return std::nullopt;
  return OnePassBuilder(schedule, environment, blocks).joined(bytes);
}

} // namespace kawara::schedule
