#pragma once

#include "schedule/auto/product/product.h"

namespace kawara::schedule {

/// A product whose left operand was laid out so that an instruction takes it unpacked.
struct Grouped {
  Schedule schedule;
  Product product;
  poly::LoopId root; ///< its outermost loop
};

/// A loop of the reduction that runs through a whole dimension of each operand.
struct Channels {
  size_t position = 0;
  int64_t left_dim = 0, right_dim = 0;
};
/// The longest of them.
std::optional<Channels> channels_of(const Schedule&, const Product&);

/// The dimensions of a tensor in their order, one of them in groups that are innermost.
std::vector<LayoutPart> in_groups(size_t rank, int64_t dim, int64_t group);

/// Instructions take a few neighbours along the reduction at once. Images whose channels come
/// first, and other operands that cannot be packed because windows overlap, get them innermost,
/// with zeros where the last group is not whole:
///
///   before   Y[k, h, w] += X[c, h + r, w + s] * W[k, c, r, s]
///   after    Y[k, h, w] += X_laid_out[c // 4, h + r, w + s, c % 4] * W[k, c, r, s]
///
/// Nothing where no instruction gains by it, or too few columns use an element.
std::optional<Grouped> with_groups(const Schedule&, const Product&, const Environment&);

/// Elements of f16 and bf16 that cannot be packed and meet no instruction are converted wherever
/// they are used. If that is often, they are converted once, before:
///
///   after    Y[k, h, w] += X_laid_out[c, h + r, w + s] * W[k, c, r, s]     X_laid_out: f32
std::optional<Grouped> with_wide_elements(const Schedule&, const Product&, const Environment&);

} // namespace kawara::schedule
