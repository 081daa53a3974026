#include "schedule/auto/gpu/cuda_core_tiles.h"

#include "schedule/auto/gpu/tensor_core_tiles.h"

#include <algorithm>
#include <array>

namespace kawara::schedule {
namespace {

/// Products of f32 whose sizes are whole tiles; rates as on an H200.
constexpr std::array<ProductTiles, 4> kTilesOfF32 = {{{64, 128, 16, false, 8, 16, 4, 1.0, 0.82, 4},
                                                      {64, 64, 16, false, 8, 16, 4, 0.89, 0.69, 4},
                                                      {32, 64, 16, false, 8, 16, 4, 0.7, 0.6, 4},
                                                      {32, 32, 16, false, 16, 16, 3, 0.4, 0.2, 3}}};
constexpr std::array<ProductTiles, 3> kTilesOfOthers = {
    {{128, 128, 16}, {64, 64, 16}, {32, 32, 16}}};
constexpr std::array<int64_t, 5> kNumbersOfParts = {2, 3, 4, 6, 8};
constexpr int64_t kLeastPart = 64; ///< elements of the reduction
constexpr double kEndsOfTile = 48; ///< steps of the reduction that beginning and ending a tile take
constexpr double kLaunchOfSums = 5e5;  ///< multiply-adds of one multiprocessor in that time
constexpr double kElementOfPart = 0.4; ///< the same, to write and read an element of a part

bool is_product_of_f32(const Schedule& schedule, const Product& product) {
  const auto is_f32 = [&](uint32_t tensor) {
    return schedule.scop.tensors[tensor].elem == scalar::Elem::F32;
  };
  return is_f32(product.left) && is_f32(product.right) && is_f32(product.result);
}

/// Multiply-adds that a multiprocessor could do while the slowest one works.
double plain_cost(const ProductTiles& tiles, int64_t blocks, double length,
                  const target::Gpu& gpu) {
  const int64_t each = pieces_of(blocks, gpu.multiprocessors), rest = each % tiles.flight;
  double turns = static_cast<double>(each - rest) / tiles.rate;
  if (rest > 0) {
    const double more = tiles.flight == 1
                            ? 0
                            : (tiles.rate - tiles.alone) * static_cast<double>(rest - 1) /
                                  static_cast<double>(tiles.flight - 1);
    turns += static_cast<double>(rest) / (tiles.alone + more);
  }
  return turns * static_cast<double>(tiles.rows * tiles.lanes) * (length + kEndsOfTile);
}

int64_t plain_blocks(const Product& product, const ProductTiles& tiles, int64_t batches) {
  return batches * pieces_of(product.extents[product.rows], tiles.rows) *
         pieces_of(product.extents[product.lanes], tiles.lanes);
}

struct PlainChoice {
  double cost;
  ProductTiles tiles;
};

/// Cheapest first, with the reduction in so many parts.
std::vector<PlainChoice> choices_for(const Schedule& schedule, const Product& product,
                                     int64_t batches, int64_t parts, const target::Gpu& gpu) {
  std::vector<PlainChoice> found;
  const int64_t rows = product.extents[product.rows], lanes = product.extents[product.lanes],
                depth = product.extents[stepped_depth(product)];
  for (ProductTiles tiles : kTilesOfF32) {
    if (!is_product_of_f32(schedule, product) || rows % tiles.rows != 0 ||
        lanes % tiles.lanes != 0 || depth % (parts * tiles.depth) != 0)
      continue;
    // Of an operand that is not transposed, threads of a warp read neighbouring rows of shared
    // memory without waiting for each other.
    const auto neighbours = [&](uint32_t operand) {
      const bool is_transposed = tiles.turns && schedule.scop.tensors[operand].shape.size() == 2;
      return is_transposed || !runs_along(schedule, product, operand) ? 4 : 1;
    };
    tiles.height = neighbours(product.left);
    tiles.width = neighbours(product.right);
    double cost = plain_cost(tiles, parts * plain_blocks(product, tiles, batches),
                             static_cast<double>(depth) / static_cast<double>(parts), gpu);
    if (parts > 1)
      cost += kLaunchOfSums + kElementOfPart * static_cast<double>(parts * rows * lanes);
    found.push_back({cost, tiles});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const PlainChoice& a, const PlainChoice& b) { return a.cost < b.cost; });
  return found;
}

} // namespace

size_t stepped_depth(const Product& product) {
  size_t best = product.depth.front();
  for (const size_t d : product.depth)
    if (product.extents[d] > product.extents[best])
      best = d;
  return best;
}

bool runs_along(const Schedule& schedule, const Product& product, uint32_t operand) {
  const program::Statement& text = schedule.scop[product.update()].text;
  // A part of the reduction is a loop that was split: `k.1`.
  const std::string& loop = schedule.order[product.nest.loops[stepped_depth(product)]].name;
  const std::string k = loop.substr(0, loop.find('.'));
  bool is_along = false;
  scalar::visit(text.value, [&](const scalar::Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr || load->tensor != operand || load->index.empty())
      return;
    scalar::visit(load->index.back(), [&](const scalar::Expr& part) {
      const auto* iter = scalar::as<scalar::Iter>(part);
      is_along = is_along || (iter != nullptr && text.iters[iter->index] == k);
    });
  });
  return is_along;
}

std::vector<ProductTiles> plain_tiles(const Schedule& schedule, const Product& product,
                                      int64_t batches, const target::Gpu& gpu) {
  std::vector<ProductTiles> order;
  for (const PlainChoice& choice : choices_for(schedule, product, batches, 1, gpu))
    order.push_back(choice.tiles);
  // Of a row that ends within a thread's neighbours, each thread has single elements: where its
  // last group ends is known before it runs, so that sums stay in registers and each has one copy
  // of its text.
  const int64_t lanes = product.extents[product.lanes];
  for (ProductTiles tiles : kTilesOfOthers) {
    while (tiles.width > 1 && lanes % tiles.width != 0)
      tiles.width /= 2;
    if (plain_blocks(product, tiles, batches) >= gpu.multiprocessors || tiles.rows == 32)
      order.push_back(tiles);
  }
  return order;
}

std::optional<int64_t> plain_part(const Schedule& schedule, const Product& product,
                                  const target::Gpu& gpu) {
  const int64_t depth = product.extents[stepped_depth(product)];
  const auto whole = choices_for(schedule, product, 1, 1, gpu);
  if (product.depth.size() != 1 || whole.empty())
    return std::nullopt;
  double least = whole.front().cost;
  std::optional<int64_t> part;
  for (const int64_t parts : kNumbersOfParts) {
    const auto choices = choices_for(schedule, product, 1, parts, gpu);
    if (depth / parts < kLeastPart || choices.empty() || choices.front().cost >= least)
      continue;
    least = choices.front().cost;
    part = depth / parts;
  }
  return part;
}

} // namespace kawara::schedule
