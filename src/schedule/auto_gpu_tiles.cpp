#include "schedule/auto_gpu_tiles.h"

#include "program/instruction.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kawara::schedule {
namespace {

/// How much of the tensor cores' rate tiles of one height reach, by width.
struct RateAt {
  int64_t lanes;
  double rate;
};
struct RatesOfHeight {
  int64_t rows;
  std::array<RateAt, 5> rates; ///< between them, in proportion
};
constexpr std::array<RatesOfHeight, 2> kRates = {
    {{128, {{{64, 0.53}, {96, 0.74}, {128, 0.92}, {192, 0.97}, {256, 1.0}}}},
     {64, {{{64, 0.38}, {96, 0.48}, {128, 0.58}, {192, 0.78}, {256, 0.92}}}}}};
constexpr int64_t kPanel = 64;
constexpr double kRateOfOddWidths = 0.97;
constexpr double kEndOfTile = 174; ///< length of a reduction that takes as long as writing the tile
constexpr double kAnotherLaunch = 4e6; ///< starting a second kernel, in multiply-adds
constexpr double kPartOfCell = 6.5;    ///< writing and reading a cell of a part, in the same
constexpr double kByte = 0.75;         ///< bringing a byte of an operand, in the same

/// Between the widths that were measured.
double plain_rate_of(const RatesOfHeight& height, int64_t lanes) {
  const auto& rates = height.rates;
  for (size_t n = 1; n < rates.size(); ++n)
    if (lanes <= rates[n].lanes) {
      const RateAt a = rates[n - 1], b = rates[n];
      const double part =
          static_cast<double>(lanes - a.lanes) / static_cast<double>(b.lanes - a.lanes);
      return a.rate + part * (b.rate - a.rate);
    }
  return rates.back().rate;
}

/// Tiles of no whole panels bring and write some cells twice.
double rate_of(const RatesOfHeight& height, int64_t lanes) {
  return plain_rate_of(height, lanes) * (lanes % kPanel == 0 ? 1 : kRateOfOddWidths);
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

/// Multiply-adds of a cell, of all loops that reduce, in time: cells of one byte take half of two's.
double length_of_reduction(const Schedule& schedule, const Product& product) {
  int64_t length = scalar::bytes_of(schedule.scop.tensors[product.left].elem);
  for (const size_t d : product.depth)
    length *= product.extents[d];
  return static_cast<double>(length) / 2;
}

/// Bytes of both operands, of a convolution's at least.
int64_t operand_bytes(const Schedule& schedule, const Product& product, size_t stepped) {
  const auto bytes = [&](uint32_t tensor, size_t side) {
    return scalar::bytes_of(schedule.scop.tensors[tensor].elem) * product.extents[side] *
           product.extents[stepped];
  };
  return bytes(product.left, product.rows) + bytes(product.right, product.lanes);
}

} // namespace

std::optional<CollectiveChoice> best_tile(const Schedule& schedule, const Product& product,
                                          size_t stepped, int64_t batches, int64_t parts,
                                          const Environment& environment) {
  const int64_t rows = product.extents[product.rows], lanes = product.extents[product.lanes];
  const double depth =
      std::ceil(length_of_reduction(schedule, product) / static_cast<double>(parts));
  std::optional<CollectiveChoice> best;
  const std::vector<Width> widths = widths_for(schedule, product, environment);
  for (const RatesOfHeight& height : kRates)
    for (const Width& width : widths) {
      const int64_t tiles =
          parts * batches * pieces_of(rows, height.rows) * pieces_of(lanes, width.lanes);
      const double one = depth / rate_of(height, width.lanes) + kEndOfTile;
      const int64_t turns = pieces_of(tiles, environment.gpu->multiprocessors);
      const double cost = static_cast<double>(turns * height.rows * width.lanes) * one;
      if (!best || cost < best->cost)
        best = CollectiveChoice{{height.rows, width.lanes}, width.instruction, parts, cost};
    }
  if (!best)
    return std::nullopt;
  // Copies and products overlap, but not wholly.
  const double bytes = static_cast<double>(operand_bytes(schedule, product, stepped));
  best->cost = std::hypot(best->cost, kByte * bytes);
  if (parts > 1)
    best->cost += kAnotherLaunch + kPartOfCell * static_cast<double>(parts * rows * lanes);
  return best;
}

} // namespace kawara::schedule
