#include "schedule/auto/product/depth_outside.h"

#include <algorithm>

namespace kawara::schedule {
namespace {

/// Fewer steps of a sum than this are not worth loading and storing a tile's results once more.
constexpr int64_t kFewestSteps = 128;

int64_t parts_of(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

/// Bytes of both operands that the tiles of one row of panels use again and again, for one step of the deepest loop: a panel, and what
/// all rows read of an image, or a tile of packed rows.
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
  const int64_t least = parts_of(extent, most);
  for (int64_t count = least; count <= least + least / 4; ++count)
    if (extent % count == 0)
      return extent / count;
  return parts_of(extent, least);
}

} // namespace

std::optional<int64_t> depth_outside(const Schedule& schedule, const Product& p, const Cuts& cuts,
                                     int64_t bytes, const target::Cpu& cpu) {
  const int64_t outer = product_over(p.extents, p.outer), depth = product_over(p.extents, p.depth),
                room = cpu.caches.l2 / 2;
  const bool keeps_left = p.left_invariant_in_all_outer && packs_left(p, cuts.lanes);
  const bool keeps_right = p.right_invariant_in_all_outer && packs_right(p, cuts.lanes);
  if (cpu.vector_bytes > 16 || cuts.instruction || cuts.depth_part == 0 || outer < 2 ||
      p.combined || p.parts || keeps_left == keeps_right || cuts.packs_left_before() ||
      cuts.packs_right_before())
    return std::nullopt;
  const int64_t kept = p.extents[keeps_left ? p.rows : p.lanes] * depth * bytes;
  const int64_t results = outer * p.extents[p.rows] * p.extents[p.lanes] * bytes;
  const int64_t extent = p.extents[cuts.deepest], around = depth / extent;
  const int64_t near = cpu.caches.l1d / 4 * 3 / step_bytes(schedule, p, cuts, bytes);
  const int64_t part =
      even_part(extent, std::max({near, parts_of(kFewestSteps, around), int64_t{1}}));
  const int64_t again = results <= room ? 0 : 2 * parts_of(extent, part) * results;
  return kept > room && part < extent && again < outer * kept ? std::optional(part) : std::nullopt;
}

} // namespace kawara::schedule
