#include "estimate/winograd_tile.h"

#include "program/rewrites/find_convolution.h"
#include "schedule/auto/product/amx_convolution.h"

#include <algorithm>

namespace kawara::estimate {
namespace {

/// Of the pipelines' peak: sums that wait for operands, at the edges of tiles and for stores; small
/// transforms for their loads.
constexpr double kProduct = 1.15, kTransform = 1.5;
/// Operations in the time of a byte: of weights that come once in a call, of what is written and
/// read again.
constexpr double kFarByte = 0.36, kNearByte = 0.4;
/// Operations for a vector of the image that is transposed or copied, and for an element of
/// transformed windows.
constexpr double kTransposedVector = 10, kCopiedVector = 2, kWindowElement = 4;
/// The estimate is off by that much.
constexpr double kClearly = 0.85;

double product_cost(double multiply_adds, double weight_bytes, const target::Cpu& cpu) {
  const double room = static_cast<double>(cpu.caches.l2);
  return std::max(multiply_adds * kProduct, weight_bytes > room ? weight_bytes * kFarByte : 0);
}

} // namespace

ConvolutionCost convolution_cost(const ConvolutionSizes& sizes, int64_t m, const target::Cpu& cpu) {
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  const int64_t lanes = target::vector_lanes(cpu, 4);
  const double channels = number(sizes.channels), filters = number(sizes.filters);
  const double vectors = number((sizes.filters + lanes - 1) / lanes);
  const double image_vectors = number((sizes.channels + lanes - 1) / lanes);
  const double elements = number(sizes.images * sizes.height * sizes.width);
  ConvolutionCost cost;
  if (m == 1) {
    cost.product =
        product_cost(9 * elements * channels * filters / number(lanes) / sizes.direct_speed,
                     9 * channels * filters * 4 / sizes.direct_speed, cpu);
    return cost;
  }
  const int64_t t = m + 2, down = (sizes.height + m - 1) / m, across = (sizes.width + m - 1) / m;
  const double tiles = number(sizes.images * down * across), points = number(t * t);
  cost.product =
      product_cost(points * tiles * channels * vectors, points * channels * filters * 4, cpu);
  // 2 t operations for a row or column of a tile, as many for one of the products.
  const double there = number(2 * t * 2 * t) + 2 * points;
  const double back = number((t + m) * 2 * t + t * m + m * m + 3 * m * m);
  cost.transforms = kTransform * tiles * (image_vectors * there + vectors * back) +
                    number(sizes.images * (down * m + 2) * (across * m + 2)) * image_vectors *
                        (sizes.has_channels_last ? kCopiedVector : kTransposedVector);
  const double bytes = points * tiles * (channels + filters) * 4;
  cost.between = bytes > number(cpu.caches.l2) ? 2 * bytes * kNearByte : 0;
  cost.windows = sizes.has_constant_windows ? 0 : points * channels * filters * kWindowElement;
  return cost;
}

std::optional<int64_t> winograd_tile(const program::Program& program, const target::Cpu& cpu) {
  const auto found = program::find_convolution(program);
  if (!found)
    return std::nullopt;
  const auto length = [&](uint32_t it) { return *program::length_of(*found->loops[it]); };
  ConvolutionSizes sizes;
  sizes.channels = length(found->c);
  for (const uint32_t it : found->of_image)
    sizes.images *= length(it);
  for (const uint32_t it : found->of_weights)
    sizes.filters *= length(it);
  const auto are = [&](scalar::Elem elem) {
    return program.tensors[found->image].elem == elem &&
           program.tensors[found->weights].elem == elem;
  };
  // Products on tiles of bf16 are eight times as fast as those of f32, of which Winograd's form
  // saves three quarters at most.
  constexpr int64_t kElementsOfRow = 32;
  if (are(scalar::Elem::BF16) && cpu.features.has(target::Feature::AmxBf16) &&
      sizes.channels % kElementsOfRow == 0 && schedule::fills_tiles(found->width))
    return std::nullopt;
  if ((are(scalar::Elem::F16) && cpu.features.has(target::Feature::Fp16)) ||
      (are(scalar::Elem::BF16) && cpu.features.has(target::Feature::Bf16)))
    sizes.direct_speed = 2;
  sizes.height = found->height;
  sizes.width = found->width;
  sizes.has_channels_last = std::is_sorted(found->image_order.begin(), found->image_order.end());
  sizes.has_constant_windows = program.tensors[found->weights].is_constant;
  std::optional<int64_t> best;
  double least = kClearly * convolution_cost(sizes, 1, cpu).total();
  for (const int64_t m : {2, 4})
    if (const double cost = convolution_cost(sizes, m, cpu).total(); cost < least) {
      best = m;
      least = cost;
    }
  return best;
}

} // namespace kawara::estimate
