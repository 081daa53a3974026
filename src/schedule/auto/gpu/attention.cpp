#include "poly/affine.h"
#include "program/interpret/instruction.h"
#include "scalar/loads.h"
#include "schedule/attempt.h"
#include "schedule/auto/gpu/plan.h"
#include "schedule/auto/rowwise/one_pass.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"
#include "support/integers.h"
#include "target/chain_tiles.h"

#include <algorithm>
#include <set>

namespace kawara::schedule {
namespace {

using poly::Axis;
using poly::LoopId;
using poly::Order;
using poly::StmtId;
using scalar::Expr;
using scalar::ReduceOp;

constexpr int64_t kSideOfBox = 64;    ///< elements of 128 bytes
constexpr int64_t kWidest = 256;      ///< of an instruction, and of what registers hold
constexpr int64_t kStagesOfChain = 2; ///< two boxes of each operand
constexpr int64_t kBytesOfBarriers = 2048;
constexpr int64_t kUsualRows = 128; ///< of a tile; with more, threads have few registers
constexpr int64_t kManyBlocks = 64; ///< where it is not known how many

int64_t whole_boxes(int64_t extent) { return ceil_div(extent, kSideOfBox) * kSideOfBox; }

/// A chain of which the scores and one sum are products that tensor cores can compute.
class ChainPlanner {
public:
  ChainPlanner(const Schedule& schedule, const Environment& environment)
      : given_(schedule), environment_(environment) {}

  /// The fastest tiles that the chain can have.
  std::optional<Schedule> plan() {
    if (!join({kSideOfBox, kSideOfBox}) || !find_products())
      return std::nullopt;
    const target::TiledChain chain = shape();
    for (const auto& [rows, keys] : target::chain_tiles(chain, environment_.gpu->multiprocessors)) {
      blocks_ = {rows, keys};
      const bool has_registers = rows <= kUsualRows || needs_few_registers();
      // Loops of one iteration vanish, and with a single block nothing says what belongs to it.
      const bool is_shared = chain.heads > 1 || chain.rows > rows;
      if (has_registers && is_shared && fits() && join(blocks_) && find_products() &&
          may_reach_over_rows() && finish())
        return std::move(joined_.schedule);
    }
    return std::nullopt;
  }

private:
  const poly::Scop& scop() const { return joined_.schedule.scop; }
  const program::Statement& text(StmtId id) const { return scop()[id].text; }
  const program::Tensor& tensor(uint32_t id) const { return scop().tensors[id]; }
  LoopName name(LoopId loop) const { return name_of_loop(scop(), joined_.schedule.order, loop); }

  bool join(const ChainBlocks& blocks) {
    auto joined = join_chain(given_, environment_, blocks, 0);
    if (!joined)
      return false;
    joined_ = *std::move(joined);
    blocks_ = blocks;
    return true;
  }

  /// Sizes that are not known count as large.
  target::TiledChain shape() const {
    const auto run = [&](LoopId loop) {
      return known_run(scop(), joined_.schedule.order, loop).value_or(kManyBlocks);
    };
    target::TiledChain chain;
    chain.rows = run(joined_.rows.back()) * blocks_.rows;
    for (size_t n = 0; n + 1 < joined_.rows.size(); ++n)
      chain.heads *= run(joined_.rows[n]);
    chain.keys = run(joined_.blocks) * blocks_.reduced;
    chain.columns = std::max(whole_boxes(*last_extent(scores_)), *width_of_sums());
    chain.is_triangular =
        !is_rectangular_block(scop(), joined_.schedule.order, joined_.rows.back(), joined_.blocks);
    return chain;
  }

  /// What is computed between the products reads no other tensor element by element, which takes
  /// addresses.
  bool needs_few_registers() const {
    return std::all_of(joined_.chain.members.begin(), joined_.chain.members.end(), [&](StmtId id) {
      const auto loads = scalar::loads_in(text(id).value);
      return id == sums_ || std::all_of(loads.begin(), loads.end(), [&](const auto* load) {
               return load->index.empty() || tensor(load->tensor).role == program::Role::Temp;
             });
    });
  }

  /// Loops of the statement inside the loop over blocks.
  std::vector<LoopId> loops_in_block(StmtId id) const {
    const std::vector<LoopId> path = poly::path_of(joined_.schedule.order, id);
    const auto at = std::find(path.begin(), path.end(), joined_.blocks);
    return at == path.end() ? std::vector<LoopId>{} : std::vector<LoopId>(at + 1, path.end());
  }

  bool find_products() {
    std::vector<StmtId> found;
    for (const auto* list : {&joined_.chain.producers, &joined_.chain.members})
      for (const StmtId id : *list)
        if (text(id).op == ReduceOp::Sum && loops_in_block(id).size() == 3)
          found.push_back(id);
    if (found.size() != 2 || joined_.chain.producers.size() != 2)
      return false;
    scores_ = found[0];
    sums_ = found[1];
    const bool is_first = std::find(joined_.chain.producers.begin(), joined_.chain.producers.end(),
                                    scores_) != joined_.chain.producers.end();
    return is_first && has_boxes(scores_) && has_boxes(sums_) && width_of_sums().has_value();
  }

  /// Every operand that is no temp of the chain is a tensor of constant shape, read in boxes along
  /// its rows.
  bool has_boxes(StmtId id) const {
    const std::vector<const scalar::Load*> loads = scalar::loads_in(text(id).value);
    return loads.size() == 2 && std::all_of(loads.begin(), loads.end(), [&](const auto* load) {
             const program::Tensor& read = tensor(load->tensor);
             const bool is_own = read.role == program::Role::Temp;
             if (is_own)
               return true;
             for (size_t d = 0; d < load->index.size(); ++d)
               if (!scalar::constant_of(read.shape[d]) ||
                   (scalar::as<scalar::Iter>(load->index[d]) == nullptr &&
                    !scalar::constant_of(load->index[d])))
                 return false;
             return load->index.size() >= 2 && load->index.size() <= 5 &&
                    scalar::as<scalar::Iter>(load->index.back()) != nullptr;
           });
  }

  /// Columns of the sums, and length of the scores' reduction: the last extent of the tensors read.
  std::optional<int64_t> last_extent(StmtId id) const {
    std::optional<int64_t> most;
    for (const scalar::Load* load : scalar::loads_in(text(id).value))
      if (tensor(load->tensor).role != program::Role::Temp) {
        const auto extent = scalar::constant_of(tensor(load->tensor).shape.back());
        most = std::max(most.value_or(0), extent.value_or(kWidest + 1));
      }
    return most && *most <= kWidest ? most : std::nullopt;
  }
  std::optional<int64_t> width_of_sums() const {
    const auto columns = last_extent(sums_), depth = last_extent(scores_);
    return columns && depth ? std::optional(whole_boxes(*columns)) : std::nullopt;
  }

  /// Where a row ends before the last block of its tile, or within one, zeros are multiplied with
  /// what the row does not see; that counts where an infinity may lie there.
  bool may_reach_over_rows() const {
    const std::vector<LoopId> loops = loops_in_block(joined_.chain.maximum);
    if (loops.size() != 2 || !do_rows_begin_together())
      return false;
    const Order& order = joined_.schedule.order;
    return scop().numerics == program::Numerics::Fast ||
           (is_rectangular_block(scop(), order, loops[0], loops[1]) &&
            is_rectangular_block(scop(), order, joined_.blocks, loops[0]));
  }

  /// Every row has the first column, and the first row is there.
  bool do_rows_begin_together() const {
    const ChainRole& role = joined_.chain.roles.at(joined_.chain.maximum);
    const isl::set domain = scop()[joined_.chain.maximum].domain.intersect_params(scop().context);
    const auto at_zero = [&](uint32_t iterator) {
      const Expr is_zero =
          scalar::binary(scalar::BinaryOp::Eq, scalar::iter(iterator), scalar::int_lit(0));
      return poly::set_from_condition(is_zero, domain, scop().params);
    };
    std::vector<Expr> rows;
    for (const uint32_t row : role.rows)
      rows.push_back(scalar::iter(row));
    const auto rows_of = [&](const isl::set& some) {
      return map_of(rows, some, scop().params).range();
    };
    return rows_of(at_zero(*role.reduced)).is_equal(rows_of(domain)) &&
           !at_zero(role.rows.back()).is_empty();
  }

  bool fits() const {
    const auto [rows, keys] = blocks_;
    const int64_t depth = whole_boxes(*last_extent(scores_)), columns = *width_of_sums();
    const int64_t bytes = 2 * (rows * depth + kStagesOfChain * keys * (depth + columns)) +
                          2 * rows * 2 * kSideOfBox + kBytesOfBarriers;
    // Results, scores and weights of a thread leave registers for the rest.
    const int64_t registers = rows > 192 ? 80 : rows > 128 ? 128 : 176;
    return bytes <= environment_.gpu->shared_per_block &&
           columns / 2 + keys / 2 + keys / 4 <= registers;
  }

  std::string instruction_for(StmtId id, int64_t columns) const {
    for (const target::Intrinsic& data : target::intrinsics()) {
      if (!data.is_collective || !target::is_available(data, *environment_.gpu))
        continue;
      const program::Instruction& one = program::instruction_of(data);
      const bool is_narrow = scalar::bytes_of(one.operands[0].elem) == 2;
      if (is_narrow && one.extents[1] == columns &&
          one.result().elem == tensor(text(id).tensor).elem &&
          !program::matching_loads(one, text(id).value).empty())
        return std::string(data.name);
    }
    return "";
  }

  /// A grid has three axes: outer loops beyond them (batches, heads of keys, heads that share one)
  /// run as one.
  void bind_rows(std::vector<Directive>& plan) const {
    constexpr std::array kAxes = {Axis::BlockX, Axis::BlockY, Axis::BlockZ};
    std::vector<LoopName> rows;
    for (const LoopId row : joined_.rows)
      rows.push_back(name(row));
    while (rows.size() > kAxes.size()) {
      plan.emplace_back(Coalesce{rows[0], rows[1]});
      rows[1] = {rows[0].statement, rows[0].loop + "_" + rows[1].loop};
      rows.erase(rows.begin());
    }
    for (size_t n = 0; n < rows.size(); ++n)
      plan.emplace_back(Bind{rows[rows.size() - 1 - n], kAxes[n]});
  }

  bool finish() {
    std::vector<Directive> plan;
    std::set<uint32_t> kept;
    for (const StmtId id : joined_.chain.members)
      if (text(id).op != ReduceOp::None && kept.insert(text(id).tensor).second)
        plan.emplace_back(StoreAt{tensor(text(id).tensor).name, name(joined_.rows.back())});
    bind_rows(plan);
    for (const auto& [id, columns] :
         {std::pair(scores_, blocks_.reduced), std::pair(sums_, *width_of_sums())}) {
      const std::string instruction = instruction_for(id, columns);
      if (instruction.empty())
        return false;
      plan.emplace_back(Tensorize{
          {text(id).name, joined_.schedule.order[loops_in_block(id).front()].name}, instruction});
    }
    if (known_run(scop(), joined_.schedule.order, joined_.blocks) != 1)
      plan.emplace_back(Pipeline{name(joined_.blocks), kStagesOfChain});
    return attempt(joined_.schedule, plan, environment_, "attention in one pass", {scores_, sums_});
  }

  const Schedule& given_;
  const Environment& environment_;
  JoinedChain joined_;
  ChainBlocks blocks_;
  StmtId scores_, sums_;
};

} // namespace

bool bind_chain(Schedule& schedule, const Environment& environment) {
  if (!environment.gpu)
    return false;
  auto planned = ChainPlanner(schedule, environment).plan();
  if (!planned)
    return false;
  schedule = *std::move(planned);
  return true;
}

} // namespace kawara::schedule
