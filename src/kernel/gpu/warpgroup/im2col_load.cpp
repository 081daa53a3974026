#include "kernel/gpu/warpgroup/im2col_load.h"

#include "kernel/memory/window_loads.h"
#include "kernel/vars.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr int64_t kPieceOfRow = 16; ///< bytes that TMA counts in

/// `places`: the buffer that is the view.
WindowWalk walk_of(const Kernel& kernel, const program::WindowView& view, const Buffer& places) {
  const Buffer& counted = view.channels_of_group != 0 ? kernel.buffers[view.image] : places;
  WindowWalk walk;
  walk.channels = *scalar::constant_of(counted.shape.back());
  const std::array<program::WindowView::Side, 2> sides = {view.down, view.right};
  for (size_t d = 0; d < 2; ++d) {
    walk.first[d] = -sides[d].before;
    walk.last[d] = walk.first[d] + (sides[d].steps - 1) * sides[d].stride;
    walk.stride[d] = sides[d].stride;
  }
  return walk;
}

} // namespace

bool can_walk(const Kernel& kernel, const Launch& launch, const TileAccess& access) {
  constexpr int64_t kFarthestCorner = 127, kFarthestTap = 255, kLongestStride = 8;
  const program::WindowView& view = *kernel.buffers[access.buffer].window;
  const Buffer &places = kernel.buffers[access.buffer], &image = kernel.buffers[view.image];
  if (image.scope != Scope::Argument || buffers_stored_in(launch.body).contains(view.image) ||
      access.line != 0 || access.other + 1 != places.shape.size())
    return false;
  std::vector<int64_t> extents, taps;
  for (const Expr& extent : image.shape)
    extents.push_back(scalar::constant_of(extent).value_or(0));
  for (const Expr& extent : whole_index(view, places.shape, 1))
    taps.push_back(scalar::constant_of(extent).value_or(0));
  const int64_t channels = extents.back();
  if (std::count(extents.begin(), extents.end(), 0) != 0 ||
      std::count(taps.begin(), taps.end(), 0) != 0 ||
      channels * scalar::bytes_of(image.elem) % kPieceOfRow != 0)
    return false;
  const WindowWalk walk = walk_of(kernel, view, places);
  const std::array<program::WindowView::Side, 2> sides = {view.down, view.right};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t beside = d == 1 ? (walk.channels - 1) / channels : 0;
    const int64_t end = walk.last[d] - (extents[extents.size() - 3 + d] - beside) + 1;
    if (std::abs(walk.first[d]) > kFarthestCorner || std::abs(end) > kFarthestCorner ||
        walk.stride[d] > kLongestStride || (taps[d + 1] - 1) * sides[d].dilation > kFarthestTap)
      return false;
  }
  return true;
}

BulkLoad walk_load(const Kernel& kernel, const TileAccess& access, int64_t lines, int64_t depth) {
  const program::WindowView& view = *kernel.buffers[access.buffer].window;
  const std::array<Expr, 4> base = whole_index(view, access.base);
  const auto over = [](const Expr& a, int64_t b) {
    return binary(BinaryOp::FloorDiv, a, int_lit(b));
  };
  const auto rest = [](const Expr& a, int64_t b) { return binary(BinaryOp::Mod, a, int_lit(b)); };
  const auto place = [](const program::WindowView::Side& side, const Expr& step) {
    return scalar::simplify(step * int_lit(side.stride) - int_lit(side.before));
  };
  const Expr& first = base[0];
  BulkLoad load;
  load.from = {view.image,
               {place(view.down, rest(over(first, view.right.steps), view.down.steps)),
                place(view.right, rest(first, view.right.steps)), base[3]}};
  load.box = {1, lines, depth};
  if (kernel.buffers[view.image].shape.size() == 4) {
    const Expr image = scalar::simplify(over(first, view.right.steps * view.down.steps));
    load.from.index.insert(load.from.index.begin(), image);
    load.box.insert(load.box.begin(), 1);
  }
  load.walk = walk_of(kernel, view, kernel.buffers[access.buffer]);
  load.tap = {scalar::simplify(base[1] * int_lit(view.down.dilation)),
              scalar::simplify(base[2] * int_lit(view.right.dilation))};
  return load;
}

} // namespace kawara::kernel
