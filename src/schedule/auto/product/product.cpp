#include "schedule/auto/product/product.h"

#include "schedule/auto/facts/dataflow.h"
#include "schedule/auto/facts/vector_loop.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/tree/extent.h"
#include "schedule/tree/resolve.h"

#include <algorithm>
#include <numeric>

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;
using scalar::Expr;

namespace {

/// In vector multiply-adds: storing an element; storing it across lanes, alone or in a tile that is
/// transposed (for each element and for each vector); copying one, in runs or from far apart.
struct ElementCosts {
  double store = 0.5, strided_store = 4.0, transposed_store = 1.0, transposed_vector = 4.0;
  double copy = 1.5, far_copy = 4.0;
};

/// Wide vectors transpose squares while they copy, and the few rows of a tile are no square when
/// it is stored: 47 x 144 results of 16 steps, 16 times, took 165 us stored transposed and 45 with
/// the longer operand copied from afar; 47 x 300 of 300 steps 137 us both ways (one Cascade Lake
/// core, 19 November 2026).
ElementCosts element_costs(const target::Cpu& cpu) {
  ElementCosts costs;
  if (cpu.vector_bytes > 16) {
    costs.transposed_store = 3.75;
    costs.far_copy = 1.0;
  }
  return costs;
}
/// Of the multiply-adds' time, where rows are read as they lie: with both operands copied the same
/// product took 9 to 18 % longer than the costs of its tile and of its copies say.
constexpr double kInPlace = 0.9;
/// Assumed where an extent depends on parameters: large, so that buffers stay within their caches.
constexpr int64_t kUnknownDepth = 2048;
/// Fewer multiply-adds than this are not worth copying operands.
constexpr int64_t kWorthPacking = 4096;

/// The write of the nest's statement and what it loads at other elements as the loops run: the
/// operands of a product. A factor that stays the same is none of them.
AccessTable operands_of(const Schedule& schedule, const Nest& nest) {
  AccessTable operands = access_table(schedule, nest);
  std::erase_if(operands,
                [](const LoopAccess& access) { return !access.is_write && access.stays(); });
  return operands;
}

/// Rows that make a copy of the right operand worth its while; one that is kept from call to call
/// always is. So many rows of one vector each keep the multipliers busy, sums that wait for each
/// other do not. Lanes of a second vector may be empty then: the nest as it is written was 20 to 80
/// times slower (24 filters on AVX-512).
constexpr int64_t kFewRows = 4, kManyRows = 8;
/// Vectors of a sum that pays for adding up its lanes.
constexpr int64_t kLongSum = 8;

bool is_worth_it(const Schedule& schedule, const Product& p, const Dataflow& flow,
                 const Environment& environment) {
  const int64_t vector = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  const int64_t work = p.extents[p.rows] * p.extents[p.lanes] * product_over(p.extents, p.depth);
  const bool is_kept = flow[p.right].keeps_values;
  // Narrow vectors gain even with an empty lane: 5 filters of 3 x 3 x 64 on 9 x 9 took 46 us as
  // written and 6.6 so, 3 filters on 64 x 64 0.61 and 0.38 ms, 50 x 3 results of 500 steps 5.6
  // and 3.4 us (Neoverse-V1). Not where rows alone are neighbours: those run in lanes.
  const bool is_narrow = environment.cpu.vector_bytes <= 16;
  const auto fills_most_of_a_vector = [&] {
    return is_narrow && 4 * p.extents[p.lanes] >= 3 * vector && p.extents[p.rows] >= kFewRows &&
           (!p.has_strided_lanes || has_window(schedule, p, p.left));
  };
  const auto has_instruction_for_more = [&] {
    const auto instruction = instruction_for(schedule, p, environment);
    return instruction && p.extents[p.lanes] < instruction->lanes;
  };
  const auto fills_a_vector = [&] {
    return p.extents[p.lanes] >= vector && p.extents[p.rows] >= kManyRows &&
           !has_instruction_for_more();
  };
  // Filters of a window need but fill a quarter of a wide vector: as written each pixel is a scalar
  // sum. 32 groups of 9 to 26 channels, 5 x 5 on 21 x 21 with stride 3, took 4.13 ms and 0.17 so on
  // one Sapphire Rapids core (docs/notes/few_filters.md).
  const auto is_window_of_few_filters = [&] {
    return !is_narrow && 4 * p.extents[p.lanes] >= vector && p.extents[p.rows] >= kFewRows &&
           has_window(schedule, p, p.left) && !has_instruction_for_more();
  };
  // Half a wide vector is still faster than sums in lanes, if these are not long: 1574 x 8 results
  // of 2 steps took 7.7 us as written and 2.0 so, 57 x 13 of 90 4.5 and 3.0; 11 x 8 of 2463 8.8 us
  // in lanes along the sums and 12.3 so, which three quarters of a vector make up for; of 4 to 6
  // columns it is slower (one Cascade Lake core, 19 November 2026).
  // From four rows on where the sums are short: 6 x 16 of 79 took 1.06 us in lanes along the sums
  // (docs/notes/short_sums.md).
  const auto fills_half_a_vector = [&] {
    const bool is_short = p.extents[deepest_of(p)] < fewest_terms(vector);
    return !is_narrow && 2 * p.extents[p.lanes] >= vector &&
           p.extents[p.rows] >= (is_short ? kFewRows : kManyRows) &&
           (is_short || 4 * p.extents[p.lanes] >= 3 * vector) && !has_instruction_for_more();
  };
  // Sums in lanes read both operands in runs; lanes of results would copy one of them from afar for
  // few rows, or take it from there in each step, where so few use it that it is not copied: 29 x
  // 11 of 1544 steps took 42 us so (one Cascade Lake core, 19 November 2026).
  const auto comes_from_afar_for_few_rows = [&] {
    return !is_narrow && !is_kept && p.has_far_lanes &&
           (p.extents[p.rows] < kManyRows || !packs_right(p, vector)) &&
           p.extents[deepest_of(p)] >= kLongSum * vector;
  };
  const bool is_wide = p.extents[p.lanes] >= 2 * vector || fills_a_vector() ||
                       fills_half_a_vector() ||
                       (is_kept && (fills_most_of_a_vector() || is_window_of_few_filters()));
  return is_wide && !comes_from_afar_for_few_rows() && (is_kept || p.extents[p.rows] >= kFewRows) &&
         work >= kWorthPacking;
}

/// Whether multiply-adds take an element of the left operand from any lane of a vector: then a
/// vector of neighbours along the reduction does for as many steps. Rows as far apart as a quarter
/// of the L1 would share the few lines of one set.
bool takes_lanes(const Schedule& schedule, const Product& p, const Environment& environment) {
  const scalar::Elem elem = schedule.scop.tensors[p.left].elem;
  const int64_t row_bytes = p.extents[p.depth.back()] * scalar::bytes_of(elem);
  return !environment.gpu && environment.cpu.arch == target::Arch::Aarch64 &&
         environment.cpu.vector_bytes <= 16 && elem == scalar::Elem::F32 &&
         schedule.scop.tensors[p.result].elem == elem && row_bytes < environment.cpu.caches.l1d / 4;
}

/// Loops that begin where a loop around the nest says: blocks of them would begin elsewhere each
/// time.
std::vector<bool> shifted_loops(const Schedule& schedule, const Nest& nest) {
  std::vector<bool> shifted(nest.loops.size(), false);
  if (nest.depth == 0)
    return shifted;
  const LoopId outermost = poly::path_of(schedule.order, nest.statements.front()).front();
  for (size_t k = 0; k < nest.loops.size(); ++k)
    shifted[k] = !is_rectangular_block(schedule.scop, schedule.order, outermost, nest.loops[k]);
  return shifted;
}

/// The loops by role when `lanes` runs in lanes; nothing when no loop is left for the rows.
std::optional<Product> with_lanes(Product p, const AccessTable& operands, const NestFacts& facts,
                                  size_t lanes, const std::vector<bool>& shifted) {
  const LoopAccess& result = operands[0];
  const bool is_first_right = !operands[1].stays(lanes);
  const LoopAccess &right = operands[is_first_right ? 1 : 2],
                   &left = operands[is_first_right ? 2 : 1];
  std::optional<size_t> rows;
  for (size_t k = 0; k < p.nest.loops.size(); ++k) {
    if (result.stays(k))
      p.depth.push_back(k);
    else if (k != lanes && !shifted[k] && facts.is_parallel[k] && !left.stays(k) &&
             right.stays(k) &&
             (!rows || result.moves[k] == Move::Unit ||
              (result.moves[*rows] != Move::Unit && p.extents[k] >= p.extents[*rows])))
      rows = k; // of equally long ones the inner: its elements lie nearer to each other
  }
  // A loop that runs once moves nothing; it can stand for the rows of a result that has but one.
  const auto single = std::find_if(p.depth.begin(), p.depth.end(), [&](size_t k) {
    return p.extents[k] == 1 && facts.is_parallel[k] && left.stays(k);
  });
  if (!rows && single != p.depth.end()) {
    rows = *single;
    p.depth.erase(single);
  }
  if (!rows || p.depth.empty())
    return std::nullopt;
  for (size_t k = 0; k < p.nest.loops.size(); ++k)
    if (!result.stays(k) && k != lanes && k != *rows) {
      if (!facts.is_parallel[k])
        return std::nullopt;
      p.outer.push_back(k);
      p.left_reused_by_some_outer = p.left_reused_by_some_outer || left.stays(k);
      p.right_reused_by_some_outer = p.right_reused_by_some_outer || right.stays(k);
      p.left_invariant_in_all_outer = p.left_invariant_in_all_outer && left.stays(k);
      p.right_invariant_in_all_outer = p.right_invariant_in_all_outer && right.stays(k);
    }
  p.lanes = lanes;
  p.rows = *rows;
  p.has_strided_lanes = result.moves[lanes] != Move::Unit;
  p.stores_transposed = p.has_strided_lanes && result.moves[*rows] == Move::Unit;
  p.has_far_lanes = right.moves[lanes] != Move::Unit;
  p.has_far_rows = left.moves[*rows] != Move::Unit;
  p.left_contiguous_along_k = p.depth.size() == 1 && left.moves[p.depth[0]] == Move::Unit;
  p.has_runs = left.moves[p.depth.back()] == Move::Unit;
  for (const size_t k : p.depth)
    if (left.moves[k] == Move::Unit)
      p.groups = k;
  p.left = left.tensor;
  p.right = right.tensor;
  return p;
}

/// Whether a processor's plain vectors compute with the operand's elements as they lie in memory.
bool takes_elements_as_they_are(const Schedule& schedule, const Product& p, uint32_t operand,
                                const Environment& environment) {
  return !environment.gpu && !instruction_for(schedule, p, environment) &&
         scalar::bytes_of(schedule.scop.tensors[operand].elem) == element_bytes(schedule, p);
}

/// Steps of a loop around the nest make the left operand, as those of a recurrent layer make its
/// state: no copy of it is made before all steps.
bool is_left_made_in_steps(const Schedule& schedule, const Product& p, const Dataflow& flow) {
  const LoopId outermost = poly::path_of(schedule.order, p.update()).front();
  if (outermost == p.nest.loops.front())
    return false;
  const std::vector<StmtId> steps = poly::statements_below(schedule.order, outermost);
  const std::vector<StmtId>& writers = flow[p.left].writers;
  return std::any_of(writers.begin(), writers.end(), [&](StmtId writer) {
    return std::find(steps.begin(), steps.end(), writer) != steps.end();
  });
}

/// Rows that are runs along the reduction, each step one element of them, are read unpacked by
/// machines that load one element into all lanes at no extra cost.
bool reads_in_place(const Schedule& schedule, const Product& p, const Environment& environment) {
  return environment.cpu.vector_bytes > 16 && p.has_far_rows && p.has_runs &&
         !p.left_reused_by_some_outer && !p.left_has_window &&
         takes_elements_as_they_are(schedule, p, p.left, environment);
}

/// Neighbours along the rows are read unpacked by the same machines, if few columns use them: to
/// copy one element takes as long as to multiply it with 32 columns. Beyond the L2 each step of the
/// reduction waits for another page.
bool reads_elements(const Schedule& schedule, const Product& p, const Environment& environment) {
  constexpr int64_t kOftenUsed = 512;
  return environment.cpu.vector_bytes > 16 && !p.has_far_rows && !p.left_reused_by_some_outer &&
         p.right_reused_by_some_outer && !p.left_has_window && p.extents[p.lanes] <= kOftenUsed &&
         bytes_of_tensor(schedule.scop.tensors[p.left]) <= environment.cpu.caches.l2 &&
         takes_elements_as_they_are(schedule, p, p.left, environment);
}

/// Neighbours in lanes that are used by few rows are read unpacked, if a kept left operand is all
/// that is copied: a copy goes through memory twice. Each step of the reduction is in another page,
/// and more pages than a core remembers would be looked up by every row of tiles. Narrow vectors
/// gain by it only where tiles wait for memory and can ask for the next.
bool reads_right_in_place(const Schedule& schedule, const Product& p,
                          const Environment& environment) {
  constexpr int64_t kOftenUsed = 256, kFewPages = 160;
  const bool gains =
      environment.cpu.vector_bytes > 16 || asks_for_columns(schedule, p, environment.cpu);
  return gains && !p.right_reused_by_some_outer && p.left_reused_by_some_outer &&
         !p.has_far_lanes && p.left != p.right && p.extents[p.rows] < kOftenUsed &&
         product_over(p.extents, p.depth) <= kFewPages && !has_window(schedule, p, p.right) &&
         takes_elements_as_they_are(schedule, p, p.right, environment);
}

/// Rows whose distance has a large factor in common with what a way of the L1 holds lie in the same
/// few lines of it.
int64_t row_lines(const Schedule& schedule, const Product& p) {
  constexpr int64_t kWayBytes = 4096, kLineBytes = 64;
  const program::Tensor& left = schedule.scop.tensors[p.left];
  const auto run = scalar::constant_of(left.shape.back());
  if (!p.has_runs || !run)
    return kWayBytes / kLineBytes;
  const int64_t common = std::gcd(*run * scalar::bytes_of(left.elem), kWayBytes);
  return kWayBytes / std::max(common, kLineBytes);
}

/// Multiply-adds of vectors that the product takes in all iterations of its outer loops, with what
/// edges, stores and copies add.
double cost_of(const Schedule& schedule, const Product& p, const Environment& environment) {
  const int64_t lanes = target::vector_lanes(environment.cpu, element_bytes(schedule, p));
  const double rows = static_cast<double>(p.extents[p.rows]);
  const double columns = static_cast<double>(p.extents[p.lanes]);
  const auto depth = static_cast<double>(product_over(p.extents, p.depth));
  const EdgeCosts edges = edge_costs(p, lanes, environment.cpu);
  const ElementCosts each = element_costs(environment.cpu);
  const RegisterTile tile =
      register_tile(environment.cpu, lanes, p.extents[p.rows], p.extents[p.lanes], edges);
  const double steps =
      tile_steps(environment.cpu, tile, lanes, p.extents[p.rows], p.extents[p.lanes], edges);
  // What follows a temp takes it out of memory again.
  const double again = schedule.scop.tensors[p.result].role == program::Role::Temp ? each.store : 0;
  const double transposed =
      each.transposed_store + each.transposed_vector / static_cast<double>(lanes) + again;
  const double strided = p.stores_transposed ? transposed : each.strided_store;
  const double store = rows * columns * (p.has_strided_lanes ? strided : each.store);
  const double copy = p.has_far_lanes ? each.far_copy : each.copy;
  const bool copies_right = !p.right_reused_by_some_outer && !p.reads_right_in_place;
  const double right_copies = copies_right ? columns * depth * copy : 0;
  const auto instruction = instruction_for(schedule, p, environment);
  const double speed = instruction ? instruction->speed : 1.0;
  const bool copies_left = !p.left_reused_by_some_outer && !p.left_has_window &&
                           !p.reads_left_in_place && !p.reads_left_elements;
  const double left_copies = copies_left ? rows * depth * each.copy : 0;
  const double in_place = p.reads_left_in_place ? kInPlace : 1.0;
  const auto outer = static_cast<double>(product_over(p.extents, p.outer));
  return outer * (depth * steps * in_place / speed + store + right_copies + left_copies);
}

/// Threads of a GPU store neighbouring results together; what registers of the CPU gain counts
/// behind that. So it does for sizes that are not known (`is_open`): the edges of tiles of an
/// assumed size decide nothing.
bool is_better(const Schedule& schedule, const Product& p, const Product& than,
               const Environment& environment, bool is_open) {
  if ((environment.gpu || is_open) && p.has_strided_lanes != than.has_strided_lanes)
    return than.has_strided_lanes;
  return cost_of(schedule, p, environment) < cost_of(schedule, than, environment);
}

} // namespace

bool has_packed(const Schedule& schedule) {
  return std::any_of(schedule.scop.tensors.begin(), schedule.scop.tensors.end(),
                     [](const program::Tensor& tensor) { return tensor.is_packed; });
}

bool may_be_product(const Schedule& schedule, const Nest& nest) {
  return nest.statements.size() == 1 &&
         schedule.scop[nest.statements.front()].text.op != scalar::ReduceOp::None &&
         operands_of(schedule, nest).size() == 3;
}

std::optional<Product> product_of(const Schedule& schedule, const Nest& nest,
                                  const NestFacts& facts, const Environment& environment) {
  if (!may_be_product(schedule, nest) || facts.fixed != 0)
    return std::nullopt;
  Product p;
  p.nest = nest;
  p.extents = facts.extents;
  bool is_open = false;
  for (size_t k = 0; k < nest.loops.size(); ++k)
    if (facts.is_open[k]) {
      p.extents[k] = kUnknownDepth;
      is_open = true;
    }
  const AccessTable operands = operands_of(schedule, nest);
  const Dataflow flow(schedule.scop);
  p.result = schedule.scop[p.update()].text.tensor;
  std::optional<Product> best;
  const std::vector<bool> shifted = shifted_loops(schedule, nest);
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const bool is_one_sided = operands[1].stays(k) != operands[2].stays(k);
    if (operands[0].stays(k) || !facts.is_parallel[k] || !is_one_sided || shifted[k])
      continue;
    auto other = with_lanes(p, operands, facts, k, shifted);
    if (!other || !is_worth_it(schedule, *other, flow, environment))
      continue;
    // What keeps its values is packed once for all calls.
    other->left_reused_by_some_outer =
        other->left_reused_by_some_outer || flow[other->left].keeps_values;
    other->right_reused_by_some_outer =
        other->right_reused_by_some_outer || flow[other->right].keeps_values;
    other->left_has_window = has_window(schedule, *other, other->left);
    other->left_contiguous_along_k =
        other->left_contiguous_along_k && takes_lanes(schedule, *other, environment);
    if (other->left_has_window && !environment.gpu &&
        schedule.scop.numerics != program::Numerics::Exact &&
        (environment.cpu.vector_bytes > 16 || !keeps_window(schedule, *other, environment.cpu)))
      unroll_channels_not_taps(schedule, *other);
    other->reads_left_in_place = reads_in_place(schedule, *other, environment) ||
                                 is_left_made_in_steps(schedule, *other, flow);
    other->reads_left_elements = reads_elements(schedule, *other, environment);
    other->reads_right_in_place = reads_right_in_place(schedule, *other, environment);
    other->row_lines = row_lines(schedule, *other);
    if (!best || is_better(schedule, *other, *best, environment, is_open))
      best = std::move(other);
  }
  return best;
}

std::optional<Product> product_at(const Schedule& schedule, LoopId loop,
                                  const Environment& environment) {
  const auto nest = perfect_nest_at(schedule.order, loop);
  return nest && may_be_product(schedule, *nest)
             ? product_of(schedule, *nest, facts_of(schedule, *nest), environment)
             : std::nullopt;
}

bool combine_along(const Schedule& schedule, Product& p, const std::string& loop) {
  const auto at = std::find_if(p.outer.begin(), p.outer.end(), [&](size_t k) {
    return schedule.order[p.nest.loops[k]].name == loop;
  });
  if (at == p.outer.end())
    return false;
  p.combined = *at;
  p.outer.erase(at);
  return true;
}

bool runs_as_instruction(const Schedule& schedule, const Product& p,
                         const Environment& environment) {
  return cuts_of(schedule, p, environment).instruction.has_value();
}

bool shares_one_loop(const Schedule& schedule, const Product& p, const Environment& environment) {
  const Cuts cuts = cuts_of(schedule, p, environment);
  return cuts.grid.is_one_loop;
}

bool runs_in_one_go(const Schedule& schedule, const Product& p, const Environment& environment) {
  return cuts_of(schedule, p, environment).depth_part == 0;
}

} // namespace kawara::schedule
