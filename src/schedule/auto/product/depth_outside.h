#pragma once

#include "schedule/auto/product/blocking.h"

namespace kawara::schedule {

/// The part of the deepest loop whose blocks stand around the outer loops; nothing where they stay
/// inside.
///
///   inside    for o0: for c.0: ...   each row of an image walks through all weights, past the L2
///   outside   for c.0: for o0: ...   the weights of a block stay in the L2 for all rows
///
/// A convolution of many channels has more weights than the L2 holds, and uses each of them once
/// for each row of results only. Blocks outside read weights once and results once for each block;
/// they are so small that what a row reads of the image stays in the L1 beside a panel of weights.
/// Where that gains more than results cost that come and go, on narrow vectors.
std::optional<int64_t> depth_outside(const Schedule&, const Product&, const Cuts&, int64_t bytes,
                                     const target::Cpu&);

} // namespace kawara::schedule
