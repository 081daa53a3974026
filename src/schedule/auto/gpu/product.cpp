#include "scalar/affine_sum.h"
#include "schedule/attempt.h"
#include "schedule/auto/gpu/cuda_core_tiles.h"
#include "schedule/auto/gpu/plan.h"
#include "schedule/auto/gpu/tensor_core_tiles.h"

#include <algorithm>
#include <array>

namespace kawara::schedule {
namespace {

using poly::Axis;

class GpuProductPlanner {
public:
  GpuProductPlanner(const Schedule& schedule, const Product& product,
                    const std::vector<FusedNest>& before, const std::vector<FusedNest>& after)
      : schedule_(schedule), product_(product), before_(before), after_(after) {}

  std::vector<Directive> plan(const ProductTiles& tiles) {
    plan_.clear();
    const std::string name = statement(product_.update());
    const std::string i = loop_name(product_.rows), j = loop_name(product_.lanes),
                      k = loop_name(stepped_depth(product_));
    GpuPlan update(name);
    std::vector<std::string> outer, sums;
    for (const size_t o : product_.outer)
      outer.push_back(loop_name(o));
    for (const size_t d : product_.depth)
      if (d != stepped_depth(product_))
        sums.push_back(loop_name(d));
    std::vector<std::string> order = outer;
    order.insert(order.end(), sums.begin(), sums.end());
    order.insert(order.end(), {i, j, k});
    update.reorder(order);
    Tile tile;
    tile.loops = {
        {update.loop(i), tiles.rows}, {update.loop(j), tiles.lanes}, {update.loop(k), tiles.depth}};
    update.add(std::move(tile));
    if (!sums.empty()) { // between the blocks and the steps
      order = outer;
      order.insert(order.end(), {i + ".0", j + ".0"});
      order.insert(order.end(), sums.begin(), sums.end());
      order.insert(order.end(), {k + ".0", i + ".1", j + ".1", k + ".1"});
      update.reorder(order);
    }
    std::vector<std::string> points = {k + ".1"};
    split_points(update, i, j, tiles, points);
    for (const Directive& d : update.list())
      plan_.push_back(d);
    for (const FusedNest& c : before_)
      join(c, name, outer, i, j, tiles, true);
    for (const FusedNest& c : after_)
      join(c, name, outer, i, j, tiles, false);
    bind(name, outer, i, j);
    return plan_;
  }

private:
  std::string statement(poly::StmtId id) const { return schedule_.scop[id].text.name; }
  std::string loop_name(size_t position) const {
    return schedule_.order[product_.nest.loops[position]].name;
  }

  /// Threads take neighbouring groups of four, again and again until the tile is done.
  void split_points(GpuPlan& plan, const std::string& i, const std::string& j,
                    const ProductTiles& tiles, const std::vector<std::string>& first) const {
    if (tiles.is_collective)
      return;
    const auto split = [&](const std::string& loop, int64_t threads, int64_t width) {
      plan.split(loop + ".1", threads * width);
      plan.split(loop + ".1.1", width);
    };
    const int64_t width = std::min(tiles.width, tiles.lanes / tiles.across);
    split(i, tiles.down, std::min(tiles.height, tiles.rows / tiles.down));
    split(j, tiles.across, width);
    std::vector<std::string> order = {i + ".1.1.0", j + ".1.1.0"};
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), {i + ".1.0", i + ".1.1.1", j + ".1.0", j + ".1.1.1"});
    plan.reorder(order);
    for (const std::string& name : first)
      plan.unroll(name);
    plan.unroll(i + ".1.0");
    plan.unroll(i + ".1.1.1");
    plan.unroll(j + ".1.0");
    if (width > 1)
      plan.vectorize(j + ".1.1.1", width);
    else
      plan.unroll(j + ".1.1.1");
    plan.bind(i + ".1.1.0", Axis::ThreadY);
    plan.bind(j + ".1.1.0", Axis::ThreadX);
  }

  /// Another statement over the tile, in loops of its own inside the same blocks.
  void join(const FusedNest& fused_nest, const std::string& update,
            const std::vector<std::string>& outer, const std::string& i, const std::string& j,
            const ProductTiles& tiles, bool is_before) {
    const std::string name = statement(fused_nest.statement);
    GpuPlan plan(name);
    std::vector<std::string> own;
    for (const poly::LoopId loop : fused_nest.loops)
      own.push_back(schedule_.order[loop].name);
    // Outer loops, lanes, rows: as the product's order has them.
    const std::string lanes = own[own.size() - 2], rows = own.back();
    std::vector<std::string> order(own.begin(), own.end() - 2);
    order.insert(order.end(), {rows, lanes});
    plan.reorder(order);
    Tile tile;
    tile.loops = {{plan.loop(rows), tiles.rows}, {plan.loop(lanes), tiles.lanes}};
    plan.add(std::move(tile));
    split_points(plan, rows, lanes, tiles, {});
    for (const Directive& d : plan.list())
      plan_.push_back(d);
    std::vector<std::pair<std::string, std::string>> pairs;
    for (size_t o = 0; o + 2 < own.size(); ++o)
      pairs.emplace_back(own[o], outer[o]);
    pairs.emplace_back(rows + ".0", i + ".0");
    pairs.emplace_back(lanes + ".0", j + ".0");
    for (const auto& [mine, theirs] : pairs) {
      const LoopName a{name, mine}, b{update, theirs};
      plan_.emplace_back(is_before ? Fuse{a, b} : Fuse{b, a});
    }
  }

  void bind(const std::string& update, const std::vector<std::string>& outer, const std::string& i,
            const std::string& j) {
    // Fused loops have the name of the earlier one.
    const std::string first = before_.empty() ? update : statement(before_.front().statement);
    const auto name = [&](const std::string& own, size_t place) {
      if (before_.empty())
        return own;
      const std::vector<poly::LoopId>& loops = before_.front().loops;
      return schedule_.order[loops[place]].name + (place + 2 < loops.size() ? "" : ".0");
    };
    const size_t n = outer.size();
    const auto add = [&](const std::string& loop, Axis axis) {
      plan_.emplace_back(Bind{{first, loop}, axis});
    };
    if (n == 1)
      add(name(outer[0], 0), Axis::BlockZ);
    add(before_.empty() ? i + ".0" : name(i, n + 1), Axis::BlockY);
    add(before_.empty() ? j + ".0" : name(j, n), Axis::BlockX);
  }

  const Schedule& schedule_;
  const Product& product_;
  const std::vector<FusedNest>& before_;
  const std::vector<FusedNest>& after_;
  std::vector<Directive> plan_;
};

/// The same for an operand of two dimensions along whose rows the reduction runs, turned on the
/// way: threads read neighbouring rows of it in one piece. Elements come one by one, each thread of
/// a row of them with a column of its own.
bool stage_transposed(Schedule& schedule, uint32_t operand, const LoopName& at, int64_t lines,
                      const ProductTiles& tiles, const Environment& environment) {
  const program::Tensor& tensor = schedule.scop.tensors[operand];
  if (tensor.shape.size() != 2 || tiles.depth != tiles.across || lines % tiles.down != 0)
    return false;
  Schedule staged = schedule;
  if (!try_plan(staged, {Stage{tensor.name, at, 0, lines}}, environment))
    return false;
  GpuPlan plan(staged.scop.statements.back().text.name);
  plan.split("d0.1", tiles.down);
  plan.reorder({"d0.1.1", "d1", "d0.0", "d0.1.0"});
  plan.bind("d0.1.1", Axis::ThreadY);
  plan.bind("d1", Axis::ThreadX);
  plan.unroll("d0.1.0");
  if (!try_plan(staged, plan.list(), environment))
    return false;
  schedule = std::move(staged);
  return true;
}

/// Copies what a step of the reduction reads of an operand to shared memory, all threads taking
/// part.
void stage_operand(Schedule& schedule, uint32_t operand, const LoopName& at,
                   const ProductTiles& tiles, const Environment& environment) {
  Schedule staged = schedule;
  const program::Tensor& tensor = schedule.scop.tensors[operand];
  if (!try_plan(staged, {Stage{tensor.name, at, std::nullopt, std::nullopt}}, environment))
    return;
  const poly::StmtId copy{static_cast<uint32_t>(staged.scop.statements.size() - 1)};
  const std::vector<poly::LoopId> path = poly::path_of(staged.order, copy);
  if (tensor.shape.size() < 2)
    return;
  const std::string a = staged.order[path[path.size() - 2]].name,
                    b = staged.order[path.back()].name;
  GpuPlan wide(staged.scop[copy].text.name);
  const int64_t width = gpu_vector_width(staged, {copy}, 0);
  wide.split(b, width);
  wide.add(Coalesce{wide.loop(a), wide.loop(b + ".0")});
  const std::string all = a + "_" + b + ".0";
  wide.split(all, tiles.across);
  wide.split(all + ".0", tiles.down);
  wide.reorder({all + ".0.1", all + ".1", all + ".0.0", b + ".1"});
  wide.bind(all + ".0.1", Axis::ThreadY);
  wide.bind(all + ".1", Axis::ThreadX);
  wide.unroll(all + ".0.0");
  wide.vectorize(b + ".1", width);
  GpuPlan plain(staged.scop[copy].text.name);
  plain.split(a, tiles.down);
  plain.split(b, tiles.across);
  plain.reorder({a + ".1", b + ".1", a + ".0", b + ".0"});
  plain.bind(a + ".1", Axis::ThreadY);
  plain.bind(b + ".1", Axis::ThreadX);
  if (try_plan(staged, wide.list(), environment) || try_plan(staged, plain.list(), environment))
    schedule = std::move(staged);
}

} // namespace

namespace {

constexpr int64_t kStepBytes = 128; ///< of a row of an operand, in one step of the reduction
constexpr int64_t kLeastCollectiveRows = 4,
                  kLeastSide = 16; ///< fewer are a matter of memory, not of products
constexpr int64_t kSideOfPanel = 64;
constexpr int64_t kMostParts = 16;
constexpr int64_t kStagesOfCollective = 8;
constexpr int64_t kBytesBesides = 2048;   ///< of shared memory, for barriers and alignment
constexpr int64_t kPanelsOfGroup = 16384; ///< bytes in which 64 rows of results wait to be written

/// The iterator that an index is, but for a constant; nothing for other indices. -1: it is
/// constant. `fixed` iterators are constants within a step.
std::optional<int64_t> only_iterator(const scalar::Expr& index, const std::vector<int64_t>& fixed) {
  scalar::AffineSum sum = scalar::affine_sum(index);
  std::erase_if(sum.terms, [&](const auto& term) {
    bool is_fixed = true;
    scalar::visit(term.first, [&](const scalar::Expr& e) {
      const auto* iter = scalar::as<scalar::Iter>(e);
      is_fixed = is_fixed && (iter == nullptr ||
                              std::count(fixed.begin(), fixed.end(), int64_t{iter->index}) > 0);
    });
    return is_fixed;
  });
  if (sum.terms.empty())
    return -1;
  const auto* iter = scalar::as<scalar::Iter>(sum.terms.front().first);
  return sum.terms.size() == 1 && sum.terms.front().second == 1 && iter != nullptr
             ? std::optional<int64_t>(iter->index)
             : std::nullopt;
}

/// By dimension, the iterator that moves an access; empty when it is not one each, all different.
std::vector<int64_t> iterators_of(const std::vector<scalar::Expr>& index,
                                  const std::vector<int64_t>& fixed) {
  std::vector<int64_t> iterators;
  for (const scalar::Expr& e : index) {
    const auto one = only_iterator(e, fixed);
    if (!one || (*one >= 0 && std::count(iterators.begin(), iterators.end(), *one) > 0))
      return {};
    iterators.push_back(*one);
  }
  return iterators;
}

/// Elements of the reduction in one step.
int64_t step_depth(const Schedule& schedule, const Product& product) {
  return kStepBytes / scalar::bytes_of(schedule.scop.tensors[product.left].elem);
}

/// A step of the reduction reads a box of the operand, of which one side lies along its rows; what
/// the last box has beyond the reduction lies outside the tensor.
bool reads_boxes(const program::Tensor& tensor, const std::vector<scalar::Expr>& index,
                 const std::vector<int64_t>& result, const std::vector<int64_t>& fixed,
                 int64_t depth, int64_t step) {
  const std::vector<int64_t> iterators = iterators_of(index, fixed);
  size_t reduced = iterators.size();
  for (size_t d = 0; d < iterators.size(); ++d) {
    const auto extent = scalar::constant_of(tensor.shape[d]);
    if (!extent)
      return false;
    if (iterators[d] < 0 || std::count(result.begin(), result.end(), iterators[d]) > 0)
      continue;
    const int64_t end = scalar::affine_sum(index[d]).constant + depth;
    if (reduced != iterators.size() || (end != *extent && depth % step != 0))
      return false;
    reduced = d;
  }
  const bool is_along_rows = !iterators.empty() && iterators.back() >= 0;
  // Wide elements are transposed by a copy, which exchanges the last two dimensions.
  const bool can_be_transposed =
      scalar::bytes_of(tensor.elem) == 2 || reduced + 2 >= iterators.size();
  return iterators.size() >= 2 && reduced != iterators.size() && is_along_rows && can_be_transposed;
}

/// The number of a part of the reduction: an iterator divided by a constant.
bool is_part_number(const scalar::Expr& index) {
  const auto* quotient = scalar::as<scalar::Binary>(index);
  return quotient != nullptr && quotient->op == scalar::BinaryOp::FloorDiv &&
         scalar::as<scalar::Iter>(quotient->lhs) != nullptr &&
         scalar::constant_of(quotient->rhs).has_value();
}

bool suits_tma(const Schedule& schedule, const Product& product) {
  const program::Statement& text = schedule.scop[product.update()].text;
  std::vector<int64_t> fixed;
  for (const size_t d : product.depth)
    for (size_t n = 0; d != stepped_depth(product) && n < text.iters.size(); ++n)
      if (text.iters[n] == schedule.order[product.nest.loops[d]].name)
        fixed.push_back(static_cast<int64_t>(n));
  std::vector<scalar::Expr> element = text.index;
  std::erase_if(element, is_part_number);
  const std::vector<int64_t> result = iterators_of(element, {});
  bool is_fine = result.size() >= 2;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    if (const auto* load = scalar::as<scalar::Load>(e))
      is_fine = is_fine &&
                reads_boxes(schedule.scop.tensors[load->tensor], load->index, result, fixed,
                            product.extents[stepped_depth(product)], step_depth(schedule, product));
  });
  return is_fine;
}

bool suits_collective(const Schedule& schedule, const Product& product) {
  return product.extents[product.rows] >= kLeastCollectiveRows &&
         product.extents[product.lanes] >= kLeastSide &&
         product.extents[stepped_depth(product)] >= kLeastSide && suits_tma(schedule, product);
}

} // namespace

bool bind_collective(Schedule& schedule, const Product& product,
                     const std::vector<FusedNest>& before, const std::vector<FusedNest>& after,
                     const Environment& environment) {
  if (product.depth.empty() || product.outer.size() > 1 || product.has_strided_lanes ||
      !suits_collective(schedule, product))
    return false;
  int64_t batches = 1;
  for (const size_t o : product.outer)
    batches *= product.extents[o];
  const auto choice = best_tile(schedule, product, stepped_depth(product), batches, 1, environment);
  if (!choice)
    return false;
  const CollectiveTile best = choice->tile;
  const std::string update = schedule.scop[product.update()].text.name;
  const std::string i = schedule.order[product.nest.loops[product.rows]].name,
                    k = schedule.order[product.nest.loops[stepped_depth(product)]].name;
  GpuProductPlanner planner(schedule, product, before, after);
  std::vector<Directive> plan =
      planner.plan({best.rows, best.lanes, step_depth(schedule, product), true});
  plan.emplace_back(Tensorize{{update, i + ".1"}, choice->instruction});
  const int64_t room =
      environment.gpu->shared_per_block - kBytesBesides - best.rows / 64 * kPanelsOfGroup;
  // An operand whose reduction runs down its rows comes in whole panels.
  const int64_t lanes = is_right_transposed(schedule, product)
                            ? pieces_of(best.lanes, kSideOfPanel) * kSideOfPanel
                            : best.lanes;
  const int64_t stage = (best.rows + lanes) * kStepBytes;
  plan.emplace_back(
      Pipeline{{update, k + ".0"}, std::clamp<int64_t>(room / stage, 2, kStagesOfCollective)});
  return attempt(schedule, plan, environment, "tensor-core product", {product.update()});
}

std::optional<int64_t> part_of_reduction(const Schedule& schedule, const Product& product,
                                         const Environment& environment) {
  if (product.depth.empty() || !product.outer.empty() || product.has_strided_lanes ||
      schedule.scop.numerics == program::Numerics::Exact)
    return std::nullopt;
  if (!suits_collective(schedule, product))
    return plain_part(schedule, product, *environment.gpu);
  const int64_t depth = product.extents[stepped_depth(product)],
                step = step_depth(schedule, product);
  // Each part takes the steps of all loops around.
  const int64_t least = product.depth.size() == 1 ? 2 * step : step;
  const size_t stepped = stepped_depth(product);
  auto best = best_tile(schedule, product, stepped, 1, 1, environment);
  if (!best)
    return plain_part(schedule, product, *environment.gpu);
  for (int64_t parts = 2; parts <= kMostParts && depth / parts >= least; ++parts) {
    const auto choice = best_tile(schedule, product, stepped, 1, parts, environment);
    if (choice->cost < best->cost)
      best = choice;
  }
  if (best->parts == 1)
    return std::nullopt;
  return pieces_of(pieces_of(depth, best->parts), step) * step;
}

bool bind_product(Schedule& schedule, const Product& product, const std::vector<FusedNest>& before,
                  const std::vector<FusedNest>& after, const Environment& environment) {
  if (product.depth.empty() || product.outer.size() > 1 || product.has_strided_lanes)
    return false;
  int64_t batches = 1;
  for (const size_t o : product.outer)
    batches *= product.extents[o];
  if (bind_collective(schedule, product, before, after, environment))
    return true;
  GpuProductPlanner planner(schedule, product, before, after);
  const std::string update = schedule.scop[product.update()].text.name;
  const std::string k = schedule.order[product.nest.loops[stepped_depth(product)]].name + ".0";
  for (const ProductTiles& tiles : plain_tiles(schedule, product, batches, *environment.gpu)) {
    if (!attempt(schedule, planner.plan(tiles), environment, "product in thread tiles",
                 {product.update()}))
      continue;
    for (const auto& [operand, lines] :
         {std::pair(product.left, tiles.rows), std::pair(product.right, tiles.lanes)})
      if (tiles.rate == 0 || !tiles.turns || !runs_along(schedule, product, operand) ||
          !stage_transposed(schedule, operand, {update, k}, lines, tiles, environment))
        stage_operand(schedule, operand, {update, k}, tiles, environment);
    if (product.depth.size() == 1)
      try_plan(schedule, {Pipeline{{update, k}, tiles.stages}}, environment);
    return true;
  }
  return false;
}

} // namespace kawara::schedule
