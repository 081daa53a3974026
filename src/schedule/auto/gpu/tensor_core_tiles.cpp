#include "schedule/auto/gpu/tensor_core_tiles.h"

#include "program/interpret/instruction.h"
#include "schedule/buffers/window_fill.h"
#include "target/tile_clusters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace kawara::schedule {
namespace {

/// How much of the tensor cores' rate tiles of one height reach, by width.
struct RateAt {
  int64_t lanes;
  double rate;
};
/// Measured on an H200, with reductions of 4096 elements of two bytes.
constexpr std::array<RateAt, 13> kRatesOf128Rows = {{{256, 1.0},
                                                     {240, 0.95},
                                                     {224, 0.97},
                                                     {208, 0.98},
                                                     {192, 0.99},
                                                     {176, 0.98},
                                                     {160, 0.98},
                                                     {144, 0.96},
                                                     {128, 0.97},
                                                     {112, 0.92},
                                                     {96, 0.8},
                                                     {80, 0.65},
                                                     {64, 0.55}}};
/// The right operand's reduction runs down its rows: it comes in panels of 64 columns, the last one
/// whole.
constexpr std::array<RateAt, 8> kRatesOf128RowsTransposed = {{{256, 1.0},
                                                              {240, 0.97},
                                                              {224, 0.975},
                                                              {192, 0.99},
                                                              {176, 0.96},
                                                              {160, 0.9},
                                                              {128, 0.97},
                                                              {64, 0.55}}};
constexpr std::array<RateAt, 9> kRatesOf64Rows = {{{256, 0.93},
                                                   {224, 0.92},
                                                   {192, 0.89},
                                                   {160, 0.77},
                                                   {128, 0.78},
                                                   {112, 0.7},
                                                   {96, 0.62},
                                                   {80, 0.52},
                                                   {64, 0.44}}};
constexpr std::array<RateAt, 4> kRatesOf64RowsTransposed = {
    {{256, 0.94}, {192, 0.88}, {128, 0.68}, {64, 0.41}}};
/// Three warpgroups. Slower for what they compute, but with tiles of another size there are other
/// numbers of them. Wider ones have too few registers for what follows the product.
constexpr std::array<RateAt, 3> kRatesOf192Rows = {{{128, 0.82}, {96, 0.78}, {64, 0.63}}};
struct RatesOfHeight {
  int64_t rows;
  std::span<const RateAt> rates;
};
constexpr double kDepthOfStep = 64;    ///< multiply-adds of two bytes in a step
constexpr double kLongReduction = 512; ///< shorter ones are a matter of memory
constexpr double kClearly = 0.95;
constexpr double kEndOfTile = 174; ///< length of a reduction that takes as long as writing the tile
constexpr double kAnotherLaunch = 4e6; ///< starting a second kernel, in multiply-adds
constexpr double kPartOfElement = 6.5; ///< writing and reading an element of a part, in the same
constexpr double kByte = 0.75;         ///< bringing a byte of an operand, in the same

/// 0 for a width that is not in the table.
double rate_of(const RatesOfHeight& height, int64_t lanes) {
  for (const RateAt& at : height.rates)
    if (at.lanes == lanes)
      return at.rate;
  return 0;
}

/// An instruction for the product's tensors.
struct Width {
  int64_t lanes;
  std::string instruction;
};

/// Widest first.
std::vector<Width> widths_for(const Schedule& schedule, const Product& product,
                              const Environment& environment) {
  std::vector<Width> widths;
  const auto& text = schedule.scop[product.update()].text;
  const scalar::Elem sums = schedule.scop.tensors[product.result].elem;
  for (const target::Intrinsic& data : target::intrinsics()) {
    if (!target::is_available(data, *environment.gpu) ||
        static_cast<int>(schedule.scop.numerics) < static_cast<int>(data.strictness))
      continue;
    const program::Instruction& one = program::instruction_of(data);
    if (one.result().elem == sums && one.op == text.op &&
        !program::matching_loads(one, text.value).empty())
      widths.push_back({one.extents[1], std::string(data.name)});
  }
  std::sort(widths.begin(), widths.end(),
            [](const Width& a, const Width& b) { return a.lanes > b.lanes; });
  return widths;
}

/// Multiply-adds of an element, of all loops that reduce, in time: elements of one byte take half
/// of two's.
double length_of_reduction(const Schedule& schedule, const Product& product) {
  int64_t length = scalar::bytes_of(schedule.scop.tensors[product.left].elem);
  for (const size_t d : product.depth)
    length *= product.extents[d];
  return static_cast<double>(length) / 2;
}

/// Rows of the operand in memory begin within lines of the cache. Rows that TMA cannot address are
/// copied to whole lines before.
bool splits_lines(const Schedule& schedule, uint32_t operand) {
  constexpr int64_t kLine = 128, kAddressed = 16;
  const program::Tensor& tensor = schedule.scop.tensors[operand];
  const auto row = tensor.shape.empty() ? std::nullopt : scalar::constant_of(tensor.shape.back());
  const int64_t bytes = row.value_or(0) * scalar::bytes_of(tensor.elem);
  return bytes % kLine != 0 && bytes % kAddressed == 0 && !inlined_window(schedule.scop, operand);
}

/// Bytes of both operands, of a convolution's at least.
int64_t operand_bytes(const Schedule& schedule, const Product& product, size_t stepped) {
  const auto bytes = [&](uint32_t tensor, size_t side) {
    return scalar::bytes_of(schedule.scop.tensors[tensor].elem) * product.extents[side] *
           product.extents[stepped];
  };
  return bytes(product.left, product.rows) + bytes(product.right, product.lanes);
}

target::TiledProduct tiled_product(const Schedule& schedule, const Product& product,
                                   const CollectiveTile& tile, int64_t others, double depth) {
  const int64_t rows = product.extents[product.rows], lanes = product.extents[product.lanes];
  target::TiledProduct tiled;
  tiled.tiles = {pieces_of(lanes, tile.lanes), pieces_of(rows, tile.rows), others};
  tiled.rows = tile.rows;
  tiled.columns = tile.lanes;
  tiled.steps = static_cast<int64_t>(std::ceil(depth / kDepthOfStep));
  tiled.brought = {std::min(rows, tile.rows), std::min(lanes, tile.lanes)};
  tiled.is_split = {splits_lines(schedule, product.left), splits_lines(schedule, product.right)};
  if (inlined_window(schedule.scop, product.left))
    tiled.most_parts[0] = 1;
  return tiled;
}

} // namespace

bool is_right_transposed(const Schedule& schedule, const Product& product) {
  const program::Statement& text = schedule.scop[product.update()].text;
  const std::string& j = schedule.order[product.nest.loops[product.lanes]].name;
  bool is_transposed = false;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || load->tensor != product.right || load->index.empty())
      return;
    scalar::visit(load->index.back(), [&](const scalar::Expr& part) {
      const auto* iter = scalar::as<scalar::Iter>(part);
      is_transposed = is_transposed || (iter != nullptr && text.iters[iter->index] == j);
    });
  });
  return is_transposed && scalar::bytes_of(schedule.scop.tensors[product.right].elem) == 2;
}

std::optional<CollectiveChoice> best_tile(const Schedule& schedule, const Product& product,
                                          size_t stepped, int64_t batches, int64_t parts,
                                          const Environment& environment) {
  const int64_t rows = product.extents[product.rows], lanes = product.extents[product.lanes];
  const double depth =
      std::ceil(length_of_reduction(schedule, product) / static_cast<double>(parts));
  std::optional<CollectiveChoice> best;
  double elements_of_best = 0;
  const std::vector<Width> widths = widths_for(schedule, product, environment);
  std::vector<RatesOfHeight> heights = {{128, kRatesOf128Rows}, {64, kRatesOf64Rows}};
  if (is_right_transposed(schedule, product))
    heights = {{128, kRatesOf128RowsTransposed}, {64, kRatesOf64RowsTransposed}};
  else if (scalar::bytes_of(schedule.scop.tensors[product.left].elem) == 2 &&
           depth >= kLongReduction && !inlined_window(schedule.scop, product.left))
    heights.push_back({192, kRatesOf192Rows});
  for (const RatesOfHeight& height : heights)
    for (const Width& width : widths) {
      const double rate = rate_of(height, width.lanes);
      if (rate == 0)
        continue;
      const target::TiledProduct tiled =
          tiled_product(schedule, product, {height.rows, width.lanes}, parts * batches, depth);
      const int64_t processors = environment.gpu->multiprocessors;
      const auto cluster = target::best_cluster(tiled, processors);
      // The rates hold for operands in whole lines. Of a single turn the start counts for more.
      const bool is_split = tiled.is_split[0] || tiled.is_split[1];
      const double bring = is_split && target::turns_of(tiled, std::nullopt, processors) > 1
                               ? target::bring_time(tiled, cluster)
                               : 0;
      const double one = depth * std::max(1 / rate, bring) + kEndOfTile;
      const int64_t tiles = tiled.tiles[0] * tiled.tiles[1] * tiled.tiles[2];
      const int64_t turns = target::turns_of(tiled, cluster, processors);
      const double cost = static_cast<double>(turns * height.rows * width.lanes) * one;
      // Many more elements than others, beyond the edges: only where that is clearly faster.
      const auto elements = static_cast<double>(tiles * height.rows * width.lanes);
      const double margin = best && kClearly * elements > elements_of_best ? kClearly : 1;
      if (!best || cost < margin * best->cost) {
        best = CollectiveChoice{{height.rows, width.lanes}, width.instruction, parts, cost};
        elements_of_best = elements;
      }
    }
  if (!best)
    return std::nullopt;
  // Copies and products overlap, but not wholly.
  const double bytes = static_cast<double>(operand_bytes(schedule, product, stepped));
  best->cost = std::hypot(best->cost, kByte * bytes);
  if (parts > 1)
    best->cost += kAnotherLaunch + kPartOfElement * static_cast<double>(parts * rows * lanes);
  return best;
}

} // namespace kawara::schedule
