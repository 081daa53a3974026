#include "kernel/memory/window_loads.h"

#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

Expr and_also(const Expr& a, const Expr& b) { return a ? binary(BinaryOp::And, a, b) : b; }

/// The view's element, which a read of the given type becomes, as `wide`.
Expr read_of_image(const Kernel& kernel, uint32_t buffer, const std::vector<Expr>& given,
                   scalar::Type type, scalar::Type wide) {
  const program::WindowView& view = *kernel.buffers[buffer].window;
  const Buffer& image = kernel.buffers[view.image];
  const std::array<Expr, 4> index = whole_index(view, given);
  const size_t rank = image.shape.size();
  const Expr &channel = index[3], &channels = image.shape.back();
  const bool runs_on =
      view.channels_of_group == 0 &&
      scalar::constant_of(scalar::simplify(kernel.buffers[buffer].shape.back() - channels)) != 0;
  const Expr columns = int_lit(view.right.steps), rows = int_lit(view.down.steps);
  const Expr line = binary(BinaryOp::FloorDiv, index[0], columns);
  const std::vector<Expr> steps = {binary(BinaryOp::Mod, line, rows),
                                   binary(BinaryOp::Mod, index[0], columns)};
  std::vector<Expr> element;
  if (rank == 4)
    element.push_back(scalar::simplify(binary(BinaryOp::FloorDiv, line, rows)));
  Expr inside;
  for (size_t d = 0; d < 2; ++d) {
    const program::WindowView::Side& side = d == 0 ? view.down : view.right;
    const Expr last = scalar::simplify(image.shape[rank - 3 + d] - int_lit(1));
    Expr at = steps[d] * int_lit(side.stride) + index[d + 1] * int_lit(side.dilation) -
              int_lit(side.before);
    if (runs_on && d == 1)
      at = at + binary(BinaryOp::FloorDiv, channel, channels);
    at = scalar::simplify(at);
    inside = and_also(inside, binary(BinaryOp::Ge, at, int_lit(0)));
    inside = and_also(inside, binary(BinaryOp::Le, at, last));
    element.push_back(binary(BinaryOp::Max, int_lit(0), binary(BinaryOp::Min, at, last)));
  }
  element.push_back(runs_on ? binary(BinaryOp::Mod, channel, channels) : channel);
  const Expr read = scalar::load(view.image, std::move(element), type);
  return scalar::select(inside, type == wide ? read : scalar::cast(read, wide),
                        scalar::zero_of(wide));
}

/// From the root down: a narrow element is chosen after it was made wide.
Expr with_reads_of_images(const Kernel& kernel, const Expr& e) {
  const auto* cast = as<scalar::Cast>(e);
  const Expr& inner = cast != nullptr ? cast->arg : e;
  const auto* load = as<scalar::Load>(inner);
  if (load != nullptr && kernel.buffers[load->tensor].window)
    return read_of_image(kernel, load->tensor, load->index, inner.type(), e.type());
  std::vector<Expr> parts = scalar::children(e);
  if (parts.empty())
    return e;
  for (Expr& part : parts)
    part = with_reads_of_images(kernel, part);
  return scalar::with_children(e, std::move(parts));
}

} // namespace

Kernel window_loads(Kernel kernel) {
  const bool has_views = std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                                     [](const Buffer& b) { return b.window.has_value(); });
  if (!has_views)
    return kernel;
  kernel.body =
      map_exprs(kernel.body, [&](const Expr& root) { return with_reads_of_images(kernel, root); });
  return kernel;
}

std::array<Expr, 4> whole_index(const program::WindowView& view, const std::vector<Expr>& index,
                                int64_t missing) {
  std::array<Expr, 4> whole = {index.front(), int_lit(missing), int_lit(missing), index.back()};
  size_t next = 1;
  if (view.down.has_taps)
    whole[1] = index[next++];
  if (view.right.has_taps)
    whole[2] = index[next++];
  if (view.channels_of_group != 0)
    whole[3] = scalar::simplify(index[next] * int_lit(view.channels_of_group) + whole[3]);
  return whole;
}

} // namespace kawara::kernel
