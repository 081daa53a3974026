#include "graph/views/strided_view.h"

#include "support/check.h"

#include <algorithm>
#include <numeric>

namespace kawara::graph::views {
namespace {

int64_t elements(const Walks& walks) {
  int64_t product = 1;
  for (const Walk& walk : walks)
    product *= walk.extent;
  return product;
}

/// Takes walks of so many elements in all from the front of `left`, cutting the last of them.
std::optional<Walks> taken(Walks& left, int64_t extent) {
  Walks out;
  while (extent > 1) {
    if (left.empty())
      return std::nullopt;
    Walk& first = left.front();
    if (extent % first.extent == 0) {
      extent /= first.extent;
      out.push_back(first);
      left.erase(left.begin());
      continue;
    }
    if (first.extent % extent != 0)
      return std::nullopt;
    const int64_t inner = first.extent / extent;
    out.push_back({extent, first.stride * inner});
    first.extent = inner;
    extent = 1;
  }
  return merged(out);
}

} // namespace

StridedView whole_view(const Shape& shape) {
  StridedView view;
  view.base_elements = elements_of(shape).value_or(0);
  int64_t stride = view.base_elements;
  for (const int64_t extent : shape) {
    stride = extent > 0 ? stride / extent : 0;
    view.dims.push_back(extent == 1 ? Walks{} : Walks{{extent, stride}});
  }
  return view;
}

Shape shape_of(const StridedView& view) {
  Shape shape;
  for (const Walks& walks : view.dims)
    shape.push_back(elements(walks));
  return shape;
}

Walks merged(const Walks& walks) {
  Walks out;
  for (const Walk& walk : walks) {
    if (walk.extent == 1)
      continue;
    if (!out.empty() && out.back().stride == walk.stride * walk.extent)
      out.back() = {out.back().extent * walk.extent, walk.stride};
    else
      out.push_back(walk);
  }
  return out;
}

Walks all_walks(const StridedView& view) {
  Walks all;
  for (const Walks& walks : view.dims)
    all.insert(all.end(), walks.begin(), walks.end());
  return merged(all);
}

bool is_whole(const StridedView& view) {
  const Walks walks = all_walks(view);
  return view.offset == 0 &&
         (view.base_elements == 1 ? walks.empty() : walks == Walks{{view.base_elements, 1}});
}

std::optional<StridedView> reshaped(const StridedView& view, const Shape& shape) {
  StridedView out{view.base_elements, view.offset, {}};
  Walks left = all_walks(view);
  for (const int64_t extent : shape) {
    auto walks = extent > 0 ? taken(left, extent) : std::nullopt;
    if (!walks)
      return std::nullopt;
    out.dims.push_back(*std::move(walks));
  }
  return left.empty() ? std::optional(std::move(out)) : std::nullopt;
}

StridedView transposed(const StridedView& view, const std::vector<int64_t>& order) {
  KAWARA_CHECK(order.size() == view.dims.size(), "an order of another number of dimensions");
  StridedView out{view.base_elements, view.offset, {}};
  for (const int64_t dim : order)
    out.dims.push_back(view.dims[static_cast<size_t>(dim)]);
  return out;
}

std::optional<StridedView> cut(const StridedView& view, size_t dim, int64_t start, int64_t step,
                               int64_t count) {
  StridedView out = view;
  Walks& walks = out.dims[dim];
  if (start == 0 && step == 1 && count == elements(walks))
    return out;
  if (count < 1 || start < 0 || step < 1 || start + (count - 1) * step >= elements(walks))
    return std::nullopt;
  if (count == 1) { // one element: its place along each walk
    for (size_t k = walks.size(); k-- > 0; start /= walks[k].extent)
      out.offset += start % walks[k].extent * walks[k].stride;
    walks.clear();
    return out;
  }
  Walk& first = walks.front();
  const int64_t inner = elements(walks) / first.extent;
  if (start % inner != 0 || count % inner != 0 || (step != 1 && inner != 1))
    return std::nullopt;
  out.offset += start / inner * first.stride;
  first = {count / inner, first.stride * step};
  walks = merged(walks);
  return out;
}

std::optional<StridedView> expanded(const StridedView& view, const Shape& shape) {
  if (shape.size() < view.dims.size())
    return std::nullopt;
  StridedView out{view.base_elements, view.offset, {}};
  const size_t added = shape.size() - view.dims.size();
  for (size_t k = 0; k < shape.size(); ++k) {
    const Walks own = k < added ? Walks{} : view.dims[k - added];
    const int64_t extent = elements(own);
    if (shape[k] < 1 || (extent != 1 && extent != shape[k]))
      return std::nullopt;
    out.dims.push_back(extent == shape[k] ? own : Walks{{shape[k], 0}});
  }
  return out;
}

std::optional<ViewSteps> steps_of(const StridedView& view) {
  const Walks all = all_walks(view);
  std::vector<size_t> by_stride; // of those that move, the longest steps first
  for (size_t k = 0; k < all.size(); ++k)
    if (all[k].stride != 0)
      by_stride.push_back(k);
  std::stable_sort(by_stride.begin(), by_stride.end(),
                   [&](size_t a, size_t b) { return all[a].stride > all[b].stride; });
  ViewSteps steps;
  int64_t coarse = view.base_elements, rest = view.offset;
  bool is_cut = false;
  const auto add = [&](const Walk& walk) {
    if (walk.stride == 0 || coarse % walk.stride != 0)
      return false;
    const int64_t full = coarse / walk.stride, start = rest / walk.stride;
    steps.split.push_back(full);
    steps.starts.push_back(start);
    steps.counts.push_back(walk.extent);
    is_cut = is_cut || walk.extent != full;
    coarse = walk.stride;
    rest %= walk.stride;
    return start + walk.extent <= full;
  };
  for (const size_t k : by_stride)
    if (!add(all[k]))
      return std::nullopt;
  if (coarse > 1 && !add({1, 1}))
    return std::nullopt;
  if (!is_cut)
    steps.starts = steps.counts = {};
  std::vector<size_t> place(all.size());
  for (size_t k = 0; k < by_stride.size(); ++k)
    place[by_stride[k]] = k;
  bool repeats = false;
  for (size_t k = 0; k < all.size(); ++k) {
    repeats = repeats || all[k].stride == 0;
    steps.single.push_back(all[k].stride == 0 ? 1 : all[k].extent);
    steps.repeated.push_back(all[k].extent);
    if (all[k].stride != 0)
      steps.order.push_back(static_cast<int64_t>(place[k]));
  }
  if (!repeats)
    steps.single = steps.repeated = {};
  if (steps.order.size() < steps.split.size()) // what a longer stride leaves out
    steps.order.push_back(static_cast<int64_t>(steps.order.size()));
  if (std::is_sorted(steps.order.begin(), steps.order.end()))
    steps.order.clear();
  steps.result = shape_of(view);
  return steps;
}

} // namespace kawara::graph::views
