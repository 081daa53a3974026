#include "schedule/auto/product/blocking.h"

#include "scalar/affine_sum.h"
#include "schedule/auto/product/depth_outside.h"

#include <algorithm>
#include <cstdlib>

namespace kawara::schedule {
namespace {

/// An operand that is used fewer times than this is read unpacked.
constexpr int64_t kWorthCopying = 16;
/// The left operand's uses are of one element for all lanes: that times so many.
constexpr int64_t kFewLanes = 4;

/// What lies in runs along the reduction is read by vectors as it is: it has to be used more often
/// than this.
constexpr int64_t kSeldomUsed = 64;

/// A tensor of more bytes than this lies in more pages than a core remembers at once (96 of 4 KiB).
constexpr int64_t kManyPages = 96 * 4096;
/// One of more bytes does not stay in an L1 beside the other operand. Distances that are a power of
/// two fill few of its sets.
constexpr int64_t kManyLines = 32 * 1024;

/// Rows of a tile that lie in the same lines of the L1, which has 8 to 12 of each.
constexpr int64_t kCrowdedRows = 6;

/// Rows of tiles that make up for loading and storing results more often, if these are called in
/// time.
constexpr int64_t kManyTiles = 32;

/// How often each element of an operand is used: along `position`, and along the outer loops where
/// it stays.
int64_t uses_of(const Product& p, size_t position, bool stays, int64_t lanes) {
  return p.extents[position] *
         (stays ? std::max(product_over(p.extents, p.outer), kWorthCopying * lanes) : 1);
}

/// The left operand's dimensions, those first along which the outer loops move.
std::vector<LayoutPart> outer_dims_first(const Schedule& schedule, const Product& p) {
  const std::vector<scalar::Expr>& rows = schedule.order.rows[p.update().value];
  std::vector<LayoutPart> first, others;
  scalar::visit(schedule.scop[p.update()].text.value, [&](const scalar::Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || load->tensor != p.left || !first.empty() || !others.empty())
      return;
    for (size_t d = 0; d < load->index.size(); ++d) {
      bool moves = false;
      scalar::visit(load->index[d], [&](const scalar::Expr& part) {
        for (const size_t k : p.outer)
          moves = moves || scalar::equal(part, rows[p.nest.depth + k]);
      });
      (moves ? first : others).push_back({static_cast<int64_t>(d), LayoutPart::Kind::Whole, 1});
    }
  });
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

/// Whether blocks of the left operand are copied from elements far apart, neighbours lying along
/// the rows and not along the reduction, and from beyond the L2.
bool copies_from_afar(const Product& p, const Cuts& cuts, int64_t bytes, const target::Cpu& cpu) {
  return packs_left(p, cuts.lanes) && !p.left_reused_by_some_outer && !p.has_far_rows &&
         !cuts.instruction &&
         p.extents[p.rows] * product_over(p.extents, p.depth) * bytes > cpu.caches.l2;
}

/// Blocks of rows that are copied from afar are small, so that there are several, and the next is
/// on its way into the L2 while one is used. The right operand is read again for each of them: it
/// stays in that cache.
void cut_rows_finer(Cuts& cuts, const Product& p, int64_t bytes, const target::Cpu& cpu) {
  constexpr int64_t kLeastTiles = 4;
  const int64_t row_bytes = product_over(p.extents, p.depth) * bytes;
  if (!copies_from_afar(p, cuts, bytes, cpu) || p.extents[p.lanes] * row_bytes > cpu.caches.l2 / 2)
    return;
  const int64_t tile = cuts.tile.rows;
  const int64_t most = std::max(kLeastTiles * tile,
                                cpu.caches.l2 / 8 / std::max<int64_t>(1, row_bytes) / tile * tile);
  if (cuts.blocks.rows <= most)
    return;
  const int64_t count = (p.extents[p.rows] + most - 1) / most;
  const int64_t even = (p.extents[p.rows] + count - 1) / count;
  cuts.blocks.rows = (even + tile - 1) / tile * tile;
}

/// Blocks of nearly as many columns each, at most as many as fit the room, if one tile does.
void cut_columns(Cuts& cuts, const Product& p, int64_t column_bytes, int64_t room) {
  const int64_t width = cuts.tile.vectors * cuts.lanes;
  const int64_t most =
      std::max<int64_t>(1, room / std::max<int64_t>(1, column_bytes) / width) * width;
  if (cuts.blocks.columns <= most)
    return;
  const int64_t count = (p.extents[p.lanes] + most - 1) / most;
  const int64_t even = (p.extents[p.lanes] + count - 1) / count;
  cuts.blocks.columns = (even + width - 1) / width * width;
}

/// A right operand that each call copies is used from the L2, if the left one stays there beside
/// it: both are then walked through once. Copies of more would go through the cache behind it and
/// come back.
void cut_columns_finer(Cuts& cuts, const Product& p, int64_t bytes, const target::Cpu& cpu) {
  const int64_t column_bytes = product_over(p.extents, p.depth) * bytes;
  const bool copies_left = packs_left(p, cuts.copied_lanes()) && !p.left_reused_by_some_outer;
  if (!p.right_reused_by_some_outer && packs_right(p, cuts.copied_lanes()) && !copies_left &&
      p.extents[p.rows] * column_bytes <= cpu.caches.l2 / 2)
    cut_columns(cuts, p, column_bytes, cpu.caches.l2 / 4);
}

/// The right operand is read once for each iteration of the outer loops. Where it is larger than
/// the L2, blocks of it that fit take turns; single panels, where the whole left operand fits that
/// cache itself.
void bring_columns_outside(Cuts& cuts, const Schedule& schedule, const Product& p, int64_t bytes,
                           const target::Cpu& cpu) {
  const int64_t columns = p.extents[p.lanes], outer = product_over(p.extents, p.outer),
                column_bytes = product_over(p.extents, p.depth) * bytes;
  const int64_t room = cpu.caches.l2 / 2;
  if (p.outer.empty() || !p.right_invariant_in_all_outer || p.combined || p.parts || outer < 2 ||
      columns * column_bytes <= room)
    return;
  const int64_t left_bytes = packs_left(p, cuts.lanes)
                                 ? outer * p.extents[p.rows] * column_bytes
                                 : bytes_of_tensor(schedule.scop.tensors[p.left]);
  // The next panel comes into the L2 while one is used (has_passing_panels).
  while (cpu.vector_bytes > 16 && left_bytes <= room && cuts.tile.vectors > 2 &&
         2 * cuts.tile.vectors * cuts.lanes * column_bytes > cpu.caches.l2 / 4 * 3)
    --cuts.tile.vectors;
  const int64_t width = cuts.tile.vectors * cuts.lanes;
  const int64_t widest =
      left_bytes <= room ? width : std::max(width, room / column_bytes / width * width);
  const int64_t count = even_blocks((columns + widest - 1) / widest, (columns + width - 1) / width,
                                    outer, cuts.threads);
  const int64_t even = (columns + count - 1) / count;
  cuts.columns_outside = true;
  cuts.blocks.columns = (even + width - 1) / width * width;
}

/// Kept weights of more bytes come from beyond the L2 in a net: those of other layers went through
/// it in between.
constexpr int64_t kFewWeights = 64 * 1024;

/// Whether each panel of the right operand, packed before, comes from beyond the L2 for a few tiles
/// and is gone again: the hardware is not in time for its next rows. Blocks of columns that stand
/// around outer loops stay. Wide vectors are so much faster than memory that they wait for any
/// panel that was not there before; all tiles that use one give the next the time to come.
bool has_passing_panels(const Schedule& schedule, const Product& p, const Cuts& cuts,
                        const target::Cpu& cpu) {
  constexpr int64_t kFewTiles = 8;
  if (!p.right_reused_by_some_outer || !packs_right(p, cuts.lanes) || cuts.instruction ||
      (cuts.depth_part != 0 && !p.reads_left_in_place) || p.extents[p.rows] <= 1)
    return false;
  const int64_t bytes = bytes_of_tensor(schedule.scop.tensors[p.right]);
  if (cpu.vector_bytes <= 16)
    return !cuts.columns_outside && p.extents[p.rows] <= kFewTiles * cuts.tile.rows &&
           bytes > cpu.caches.l2;
  const bool has_panels =
      !cuts.columns_outside || cuts.blocks.columns == cuts.tile.vectors * cuts.lanes;
  return cuts.threads == 1 && !cuts.rows_outside && has_panels && bytes > kFewWeights;
}

/// Sums of few steps store results most of the time. Down a column every tile has rows of its own
/// to write, each in another page and in a part of a line; along the rows a tile goes on where the
/// last one ended. 1654 x 2906 results of 8 steps took 2.61 ms and 1.39 so on one Neoverse-V1 core,
/// 1000 x 1000 of 16 steps 0.93 and 0.47, of 64 steps 1.79 and 1.71; 200 x 200 of 200 steps 0.22
/// both ways.
/// Wide vectors wait for weights that come late, and ask for them panel by panel; results of more
/// bytes than these weigh more: 727 x 1665 of 13 steps took 1.36 ms down the columns and 0.39 so on
/// one Cascade Lake core (docs/notes/short_sums.md).
bool stores_often(const Cuts& cuts, const Product& p, int64_t bytes, const target::Cpu& cpu) {
  constexpr int64_t kFewSteps = 64;
  const int64_t depth = product_over(p.extents, p.depth);
  const bool stores_most =
      cpu.vector_bytes <= 16 || (p.reads_left_in_place && p.extents[p.rows] > depth);
  return stores_most && depth <= kFewSteps && cuts.depth_part == 0 &&
         cuts.blocks.columns * depth * bytes <= cpu.caches.l2 / 2;
}

/// Rows that are read unpacked meet all panels of the right operand one after the other where these
/// stay in the L2: operands and results beyond it are then walked through once, row by row. Weights
/// that are not there yet are better asked for panel by panel, if the rows are, or the part of them
/// that a block of the reduction reads (docs/notes/unpacked_rows.md).
void bring_rows_outside(Cuts& cuts, const Product& p, int64_t bytes, const target::Cpu& cpu) {
  if (stores_often(cuts, p, bytes, cpu))
    cuts.rows_outside = true;
  const bool is_decided = cuts.rows_outside && cpu.vector_bytes > 16;
  if (is_decided || !p.reads_left_in_place || !packs_right(p, cuts.lanes))
    return;
  const int64_t depth_bytes = product_over(p.extents, p.depth) * bytes;
  const int64_t column_bytes =
      cuts.depth_part == 0 ? depth_bytes : depth_bytes / p.extents[cuts.deepest] * cuts.depth_part;
  const bool comes_late =
      p.right_reused_by_some_outer && p.extents[p.rows] * column_bytes <= cpu.caches.l2;
  const int64_t room = comes_late ? kFewWeights : cpu.caches.l2 / 2;
  if (!comes_late && cuts.threads == 1 && !cuts.columns_outside)
    cut_columns(cuts, p, column_bytes, room);
  cuts.rows_outside = cuts.blocks.columns * column_bytes <= room;
  // Each panel passes by once.
  if (comes_late && !cuts.rows_outside && cuts.threads == 1 && cuts.depth_part != 0)
    cuts.blocks.rows = (p.extents[p.rows] + cuts.tile.rows - 1) / cuts.tile.rows * cuts.tile.rows;
}

/// Blocks of rows: several for each thread, so that others can take what a slow one has not come
/// to. f16 products of 1024 rows took 1.0 ms with 16 threads, 1.23 with one block for each.
int64_t shares_of_rows(int64_t rows, const Cuts& cuts) {
  constexpr int64_t kPieces = 4;
  const int64_t pieces = rows / (cuts.tile.rows * cuts.threads);
  return cuts.threads == 1 ? 1 : cuts.threads * std::clamp<int64_t>(pieces, 1, kPieces);
}

/// Do threads share the tiles of one result? Of few rows they share the columns.
bool shares_tiles(const Product& p) {
  constexpr int64_t kFewRows = 4;
  return p.extents[p.rows] >= kFewRows ? may_share_blocks(p)
                                       : !p.parts && product_over(p.extents, p.outer) == 1;
}

/// Operands have to lie in the order of the instruction's lanes: in copies, or the left one as it
/// is.
std::optional<ProductInstruction> usable_instruction(const Schedule& schedule, const Product& p,
                                                     const Environment& environment) {
  const auto copied = p.tile_rows ? std::nullopt : instruction_for(schedule, p, environment);
  if (copied && packs_left(p, copied->copied_lanes()))
    return packs_right(p, copied->copied_lanes()) ? copied : std::nullopt;
  auto in_place = instruction_in_place(schedule, p, environment);
  return in_place && packs_right(p, in_place->copied_lanes()) &&
                 !packs_left(p, in_place->copied_lanes())
             ? in_place
             : std::nullopt;
}

} // namespace

int64_t product_over(const std::vector<int64_t>& extents, const std::vector<size_t>& positions) {
  int64_t product = 1;
  for (const size_t k : positions)
    product = std::min<int64_t>(product * std::max<int64_t>(extents[k], 1), int64_t{1} << 40);
  return product;
}

size_t deepest_of(const Product& p) {
  return *std::max_element(p.depth.begin(), p.depth.end(),
                           [&](size_t a, size_t b) { return p.extents[a] < p.extents[b]; });
}

int64_t element_bytes(const Schedule& schedule, const Product& p) {
  return scalar::bytes_of(scalar::compute_type(schedule.scop.tensors[p.result].elem));
}

bool packs_right(const Product& p, int64_t lanes) {
  return p.left != p.right && !p.reads_right_in_place &&
         uses_of(p, p.rows, p.right_reused_by_some_outer, lanes) >= kWorthCopying;
}
bool packs_left(const Product& p, int64_t lanes) {
  // One row lies in reading order already. What is copied element by element has to be used more
  // often than what is in runs, and what can be read by vectors unpacked still more often.
  const int64_t least = p.has_far_rows && p.left_contiguous_along_k
                            ? kSeldomUsed + 1
                            : kWorthCopying * (p.has_far_rows ? lanes : std::min(lanes, kFewLanes));
  return p.left != p.right && p.extents[p.rows] > 1 && !p.left_has_window && !p.tile_rows &&
         !p.reads_left_in_place && !p.reads_left_elements &&
         uses_of(p, p.lanes, p.left_reused_by_some_outer, lanes) >= least;
}

bool asks_for_columns(const Schedule& schedule, const Product& p, const target::Cpu& cpu) {
  constexpr int64_t kFewUses = 64;
  return p.extents[p.rows] <= kFewUses &&
         bytes_of_tensor(schedule.scop.tensors[p.right]) > cpu.caches.l2 / 2;
}

bool has_window(const Schedule& schedule, const Product& p, uint32_t tensor) {
  std::vector<size_t> of_result = p.outer;
  of_result.push_back(p.rows);
  of_result.push_back(p.lanes);
  return adds_up(schedule, p.nest, tensor, of_result, p.depth);
}

bool stays_along(const Schedule& schedule, const Product& p, uint32_t tensor, size_t position) {
  return !adds_up(schedule, p.nest, tensor, {position}, {position});
}

int64_t window_span(const Schedule& schedule, const Product& p, int64_t rows) {
  const std::vector<scalar::Expr>& iterators = schedule.order.rows[p.update().value];
  const scalar::Expr &row = iterators[p.nest.depth + p.rows],
                     &tap = iterators[p.nest.depth + p.depth.back()];
  int64_t span = 0;
  scalar::visit(schedule.scop[p.update()].text.value, [&](const scalar::Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || load->tensor != p.left)
      return;
    int64_t stride = 0, dilation = 0;
    for (const auto& [term, factor] : scalar::affine_sum(load->index.back()).terms) {
      stride = scalar::equal(term, row) ? std::abs(factor) : stride;
      dilation = scalar::equal(term, tap) ? std::abs(factor) : dilation;
    }
    if (stride != 0 && dilation != 0)
      span = stride * (rows - 1) + dilation * (p.extents[p.depth.back()] - 1) + 1;
  });
  return span;
}

bool keeps_window(const Schedule& schedule, const Product& p, const target::Cpu& cpu) {
  // Many taps use a vector so often that a few of those between them may be spilled, if what one
  // tap reads does fit. One Neoverse-V1 core, 18 November 2026, taps and window rows unrolled: 7 x
  // 7 with stride 2 in tiles of 6 x 16 4.66 and 4.89 ms, of 13 x 8 2.12 and 1.30; with stride 3 in
  // tiles of 6 x 16 1.25 and 0.89; with dilation 3 3.56 and 3.78.
  constexpr int64_t kManyTaps = 7, kSpilled = 2;
  const int64_t lanes = target::vector_lanes(cpu, element_bytes(schedule, p));
  const RegisterTile tile =
      register_tile(cpu, lanes, p.extents[p.rows], p.extents[p.lanes], edge_costs(p, lanes, cpu));
  const int64_t taps = p.extents[p.depth.back()];
  const int64_t span = window_span(schedule, p, tile.rows), step = window_span(schedule, p, 1);
  const int64_t others = tile.rows * tile.vectors + tile.vectors;
  const int64_t operands = (span + lanes - 1) / lanes;
  if (taps < kManyTaps)
    return others + operands <= cpu.vector_registers;
  const int64_t of_one_tap = (span - step + lanes - 1) / lanes + 1;
  return others + of_one_tap <= cpu.vector_registers &&
         others + operands <= cpu.vector_registers + kSpilled;
}

void unroll_channels_not_taps(const Schedule& schedule, Product& p) {
  if (p.depth.size() < 2 || !adds_up(schedule, p.nest, p.left, {p.rows}, {p.depth.back()}))
    return;
  std::swap(p.depth[p.depth.size() - 1], p.depth[p.depth.size() - 2]);
}

EdgeCosts edge_costs(const Product& p, int64_t lanes, const target::Cpu& cpu) {
  // Rows that are not packed have nothing beyond the edge: they are done one by one. Neighbouring
  // results are stored as vectors but for those at the edge; strided ones go through a tile in
  // memory anyway. The last tile of a row is code of its own (kernel/loops/peel_last_tiles.h). With
  // narrow vectors costs count on that for the rows of an image.
  const bool is_wide = cpu.vector_bytes > 16;
  const bool is_apart =
      is_wide && (p.left_has_window || p.reads_left_in_place || p.reads_left_elements);
  const bool is_packed = packs_left(p, lanes);
  EdgeCosts costs{is_packed ? 1.5 : 4.0,
                  p.has_strided_lanes ? 1.2 : 4.0,
                  is_apart,
                  is_wide ? !p.has_strided_lanes : p.left_has_window,
                  is_packed && !p.left_reused_by_some_outer && p.has_far_rows,
                  is_wide && p.reads_left_in_place && p.right_reused_by_some_outer};
  // Threads that share the rows have several blocks of them.
  costs.rows_apart =
      !is_wide && p.left_has_window && (cpu.cores == 1 || shared_outer_loops(p, cpu.cores) > 0);
  // Rows that share lines of the L1 leave some for the other operand.
  if (costs.is_in_place)
    costs.most_rows = std::min(costs.most_rows, kCrowdedRows * p.row_lines);
  return costs;
}

std::vector<Directive> bring_left_together(const Schedule& schedule, const Product& p,
                                           int64_t lanes, uint32_t next) {
  const program::Tensor& left = schedule.scop.tensors[p.left];
  const int64_t bytes = bytes_of_tensor(schedule.scop.tensors[p.left]);
  // The layout of a temp costs nothing, a copy does.
  const bool is_temp = left.role == program::Role::Temp && left.private_dims == 0;
  if (!p.left_has_window || p.outer.empty() || bytes <= (is_temp ? kManyLines : kManyPages) ||
      p.extents[p.lanes] < kWorthCopying || packs_left(p, lanes))
    return {};
  if (is_temp)
    return {Layout{left.name, outer_dims_first(schedule, p)}};
  const std::string copy = "S" + std::to_string(next);
  const std::string elements = "d" + std::to_string(left.shape.size() - 1);
  const std::string& outer = schedule.order[p.nest.loops[p.outer.back()]].name;
  return {
      Stage{left.name, {schedule.scop[p.update()].text.name, outer}, std::nullopt, std::nullopt},
      Vectorize{{copy, elements}, lanes}};
}

Cuts cuts_of(const Schedule& schedule, const Product& p, const Environment& environment) {
  Cuts cuts;
  int64_t bytes = element_bytes(schedule, p);
  const int64_t rows = p.extents[p.rows], columns = p.extents[p.lanes];
  cuts.lanes = target::vector_lanes(environment.cpu, bytes);
  cuts.instruction = usable_instruction(schedule, p, environment);
  if (cuts.instruction) {
    cuts.lanes = cuts.instruction->lanes;
    bytes = cuts.instruction->operand_bytes;
  }
  cuts.fused_lanes = cuts.lanes;
  const int64_t accumulator_rows = cuts.instruction_rows();
  const bool has_tiles = cuts.instruction && cuts.instruction->is_tile;
  const double speed = has_tiles ? cuts.instruction->speed : 1.0;
  const Copies copies{packs_left(p, cuts.copied_lanes()), packs_right(p, cuts.copied_lanes()),
                      cuts.instruction ? cuts.instruction->copies : 1};
  cuts.threads = threads_for(p, environment.cpu, speed);
  const TileShares shares{shares_tiles(p) ? cuts.threads : 1,
                          product_over(p.extents, p.outer) * p.combined_extent()};
  const int64_t row_count = (rows + accumulator_rows - 1) / accumulator_rows;
  EdgeCosts edges = edge_costs(p, cuts.lanes, environment.cpu);
  // An instruction takes whole vectors: the part of one that is left over is in a tile beside
  // others, never in the only one.
  if (cuts.instruction && columns % cuts.lanes != 0)
    edges.most_vectors = std::clamp<int64_t>(columns / cuts.lanes, 1, edges.most_vectors);
  cuts.tile = has_tiles
                  ? block_of_tiles(row_count, (columns + cuts.lanes - 1) / cuts.lanes, shares)
                  : register_tile(environment.cpu, cuts.lanes, row_count, columns, edges, shares);
  cuts.tile.rows *= accumulator_rows;
  if (accumulator_rows > 1 && cuts.tile.vectors % accumulator_rows == 0)
    cuts.fused_lanes *= accumulator_rows;
  cuts.grid =
      thread_grid(p, cuts.tile, cuts.lanes, bytes, copies, speed, cuts.threads, environment.cpu);
  cuts.rows_in_parallel =
      may_share_blocks(p) ? !cuts.grid.is_one_loop : rows / cuts.tile.rows >= 2 * cuts.threads;
  if (!may_share_blocks(p))
    cuts.grid = shared_outer_loops(p, cuts.threads) > 0 ? ThreadGrid{1, 1, false}
                : cuts.rows_in_parallel ? ThreadGrid{shares_of_rows(rows, cuts), 1, false}
                                        : ThreadGrid{1, cuts.threads, false};
  const bool is_packed = copies.left;
  const bool is_near =
      !has_tiles && !p.has_epilogue && (!is_packed || rows / cuts.tile.rows >= kManyTiles);
  const StaysInL1 near = edges.is_in_place ? StaysInL1::Rows
                         : is_near         ? StaysInL1::Panel
                                           : StaysInL1::Nothing;
  // Tiles ask for more of the L2 than for their products: blocks of 256 KiB were faster than larger
  // ones, and results that are loaded and stored more often cost more than panels beyond the L1.
  target::Cpu blocked = environment.cpu;
  if (has_tiles)
    blocked.caches.l2 /= 4;
  else if (cuts.instruction)
    blocked.caches.l2 /= cuts.instruction->copies;
  const auto cut_blocks = [&](int64_t row_parts, int64_t column_parts) {
    return cache_blocks(blocked, cuts.tile, cuts.lanes, bytes, rows, columns,
                        product_over(p.extents, p.depth) * p.combined_extent(), row_parts,
                        column_parts, near);
  };
  cuts.blocks = cut_blocks(cuts.grid.row_parts, cuts.grid.column_parts);
  cuts.deepest = cuts.instruction_depth() > 1 && !copies.left ? *p.groups : deepest_of(p);
  const int64_t around =
      std::max<int64_t>(1, product_over(p.extents, p.depth) / p.extents[cuts.deepest]);
  const int64_t unit = cuts.instruction_depth();
  const int64_t steps = std::max<int64_t>(1, cuts.blocks.depth / around);
  const int64_t part = (steps + unit - 1) / unit * unit;
  cuts.depth_part = part < p.extents[cuts.deepest] ? part : 0;
  if (const auto outside = depth_outside(schedule, p, cuts, bytes, environment.cpu)) {
    cuts.depth_outside = true;
    cuts.depth_part = *outside;
  }
  cuts.prefetches_next_c_tile = is_near && is_packed && cuts.depth_part != 0;
  if (cuts.depth_part == 0) {
    bring_columns_outside(cuts, schedule, p, bytes, environment.cpu);
    if (cuts.columns_outside) {
      cuts.grid = {};
      cuts.blocks.rows = cut_blocks(1, 1).rows;
    }
    if (!cuts.grid.is_one_loop) {
      cut_rows_finer(cuts, p, bytes, environment.cpu);
      cut_columns_finer(cuts, p, bytes, environment.cpu);
    }
  }
  // Rows of an image are not copied, and a last tile is apart in one block only.
  if (environment.cpu.vector_bytes <= 16 && p.left_has_window && cuts.grid.row_parts == 1)
    cuts.blocks.rows = (rows + cuts.tile.rows - 1) / cuts.tile.rows * cuts.tile.rows;
  bring_rows_outside(cuts, p, bytes, environment.cpu);
  cuts.prefetches_next_b_panel = has_passing_panels(schedule, p, cuts, environment.cpu);
  cuts.prefetches_next_b_columns =
      p.reads_right_in_place && asks_for_columns(schedule, p, environment.cpu);
  cuts.prefetches_next_a_block = !cuts.packs_left_before() &&
                                 copies_from_afar(p, cuts, bytes, environment.cpu) &&
                                 rows > cuts.blocks.rows;
  return cuts;
}

} // namespace kawara::schedule
