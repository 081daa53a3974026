#include "schedule/auto/product/depth_outside.h"

#include "support/integers.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Fewer steps of a sum than this are not worth loading and storing a tile's results once more.
constexpr int64_t kFewestSteps = 128;
/// Bytes that come from beyond the L2 and from the L2 in the time of a multiply-add of vectors, as
/// for thread_grid.
constexpr double kFar = 6, kNear = 24;
/// Of the time of the multiply-adds, what is gained where both operands come from the L1. One
/// Neoverse-V1 core, 18 November 2026, 3 x 3 windows: 96 to 152 channels, 20 x 44 results, dilation
/// 2, 4.26 ms as a whole and 3.47 in three blocks; 560 to 80, 133 x 20, 34.8 ms in blocks for the
/// L2 inside the rows, 31.9 around them and 30.6 in blocks for the L1.
constexpr double kFromL1 = 0.1;
/// Tiles in a row of the result that make it worth to find operands in the L1, as for cache_blocks:
/// 3 x 3 windows of 256 channels on 14 x 14, two tiles in a row, took 3.23 ms as a whole and 3.69
/// in blocks.
constexpr int64_t kFewTilesAround = 4;
/// How often results are walked through besides, where they do not start and end in registers: to
/// start them, to read and store them.
constexpr int64_t kWalksApart = 3;
/// Multiply-adds of vectors for each thread and block that are worth waking the threads for it.
constexpr double kWorthForks = 240000;

/// Bytes of both operands that the tiles of one row of panels use again and again, for one step of
/// the deepest loop: a panel, and what all rows read of an image, or a tile of packed rows.
int64_t step_bytes(const Schedule& schedule, const Product& p, const Cuts& cuts, int64_t bytes) {
  const int64_t around = product_over(p.extents, p.depth) / p.extents[cuts.deepest];
  const int64_t panel = cuts.tile.vectors * cuts.lanes * around;
  if (!p.left_has_window)
    return (panel + cuts.tile.rows * around) * bytes;
  const int64_t span = window_span(schedule, p, p.extents[p.rows]);
  const int64_t taps = p.extents[p.depth.back()];
  const int64_t image =
      span != 0 ? span * std::max<int64_t>(1, around / taps) : p.extents[p.rows] * around;
  return (panel + image) * bytes;
}

/// Parts of nearly the same length, all the same where a few more of them allow it.
int64_t even_part(int64_t extent, int64_t most) {
  const int64_t least = ceil_div(extent, most);
  for (int64_t count = least; count <= least + least / 4; ++count)
    if (extent % count == 0)
      return extent / count;
  return ceil_div(extent, least);
}

} // namespace

std::optional<int64_t> depth_outside(const Schedule& schedule, const Product& p, const Cuts& cuts,
                                     int64_t bytes, const target::Cpu& cpu) {
  const int64_t outer = product_over(p.extents, p.outer), extent = p.extents[cuts.deepest],
                depth = product_over(p.extents, p.depth), room = cpu.caches.l2 / 2;
  const bool keeps_left = p.left_invariant_in_all_outer && packs_left(p, cuts.lanes);
  const bool keeps_right = p.right_invariant_in_all_outer && packs_right(p, cuts.lanes);
  if (cuts.instruction || outer < 2 || p.combined || p.parts || p.is_inside ||
      keeps_left == keeps_right || cuts.packs_left_before() || cuts.packs_right_before())
    return std::nullopt;
  const int64_t kept = p.extents[keeps_left ? p.rows : p.lanes] * depth * bytes;
  const int64_t step = step_bytes(schedule, p, cuts, bytes);
  const int64_t near =
      std::max(cpu.caches.l1d / 4 * 3 / step, ceil_div(kFewestSteps, depth / extent));
  const int64_t fits = room / std::max<int64_t>(1, kept / extent);
  const int64_t elements = outer * p.extents[p.rows] * p.extents[p.lanes];
  const double sums =
      static_cast<double>(elements) * static_cast<double>(depth) / static_cast<double>(cuts.lanes);
  const auto is_worth_forks = [&](int64_t most) {
    return most > 0 &&
           sums >= kWorthForks * static_cast<double>(ceil_div(extent, even_part(extent, most)) *
                                                     cuts.threads);
  };
  // A single thread is woken by nobody. Few tiles in a row use nothing again: then it wants blocks
  // that the L2 keeps, where vectors are wide (docs/notes/depth_outside.md).
  const bool is_used_again = ceil_div(p.extents[p.rows], cuts.tile.rows) >= kFewTilesAround;
  const bool is_near = p.left_has_window && is_used_again && step * extent > cpu.caches.l1d;
  const bool is_alone = cpu.vector_bytes > 16 && cuts.threads == 1;
  const bool gains = is_near && (!is_alone || is_worth_forks(std::min(near, fits)));
  const int64_t most = is_alone && !gains ? fits : std::min(near, fits);
  if (most * (depth / extent) < kFewestSteps / 2)
    return std::nullopt;
  const int64_t part = even_part(extent, most), count = ceil_div(extent, part);
  if (count < 2 || (!is_alone && !is_worth_forks(most)))
    return std::nullopt;
  // Sums that are not cut walk through weights once as they are (Cuts::columns_outside).
  const bool is_cut = cuts.depth_part != 0;
  const double saved = is_cut && kept > room ? static_cast<double>(outer * kept) / kFar : 0;
  const int64_t walks = 2 * count + (is_cut ? 0 : kWalksApart);
  const bool stay = elements * bytes <= room;
  const double again = static_cast<double>(walks * elements * bytes) / (stay ? kNear : kFar);
  return again < saved + (gains ? kFromL1 * sums : 0) ? std::optional(part) : std::nullopt;
}

} // namespace kawara::schedule
