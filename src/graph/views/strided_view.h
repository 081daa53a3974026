#pragma once

#include "graph/tensor.h"

#include <optional>
#include <vector>

namespace kawara::graph::views {

/// Steps through the elements of another value: so many, each `stride` elements further. With a
/// stride of 0 the same element is seen again and again.
struct Walk {
  int64_t extent = 1, stride = 0;
  friend bool operator==(const Walk&, const Walk&) = default;
};
using Walks = std::vector<Walk>;

/// A value whose elements are elements of another one, its base: element (i, j, ...) lies `offset`
/// plus the steps of all its walks behind the base's first. What reshapes, transposes, cuts and
/// repeats such a view makes one again:
///
///   base [2, 5, 36]     reshaped [2, 5, 3, 4, 3], transposed [2, 0, 3, 1, 4],
///                       part 1 of the first dimension
///   view [2, 4, 5, 3]   offset 12, walks (2, 180), (4, 3), (5, 36), (3, 1)
struct StridedView {
  int64_t base_elements = 1;
  int64_t offset = 0;
  std::vector<Walks> dims; ///< of each dimension, the outermost first; none where the extent is 1
};

/// All elements in their order.
StridedView whole_view(const Shape&);
Shape shape_of(const StridedView&);
/// Are these all elements of the base in their order?
bool is_whole(const StridedView&);
/// Walks that make one are one; those of one step are left out.
Walks merged(const Walks&);
Walks all_walks(const StridedView&); ///< of all dimensions, merged

// Views of a view. Nothing comes back where walks cannot say it.

std::optional<StridedView> reshaped(const StridedView&, const Shape&);
/// Dimension k of the result is dimension order[k]; the order has each dimension once.
StridedView transposed(const StridedView&, const std::vector<int64_t>& order);
/// `count` elements of a dimension from `start` on, each `step` further; all lie inside.
std::optional<StridedView> cut(const StridedView&, size_t dim, int64_t start, int64_t step,
                               int64_t count);
/// Dimensions of extent 1 repeated, and new ones in front.
std::optional<StridedView> expanded(const StridedView&, const Shape&);

/// A view as operators of the standard, each of which is left out where its list is empty: the base
/// reshaped, cut, in another order of dimensions, reshaped, expanded, and at last under the view's
/// shape.
struct ViewSteps {
  Shape split;
  std::vector<int64_t> starts, counts; ///< by dimension of `split`
  std::vector<int64_t> order;
  Shape single, repeated; ///< with extents of 1 for what is repeated; repeated
  Shape result;

  /// How many of them move elements.
  size_t moves() const { return (starts.empty() ? 0 : 1) + !order.empty() + !repeated.empty(); }
};
/// Nothing where no reshaping of the base has the view's strides.
std::optional<ViewSteps> steps_of(const StridedView&);

} // namespace kawara::graph::views
