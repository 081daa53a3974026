#pragma once

#include "schedule/auto/product/product.h"

#include <optional>

namespace kawara::schedule {

/// A reduction that threads share: loop `loop` of the update in parts of `size`, one thread each.
struct ReductionSplit {
  poly::LoopId loop;
  int64_t size = 0;
};

/// For a product whose result has fewer register tiles than the machine needs to be busy, and whose
/// reduction is long enough for every part to be worth a thread; nothing for all others.
std::optional<ReductionSplit> reduction_split(const Schedule&, const Product&, const Environment&);

/// The same for any nest of one update in which no loop but the one in lanes has iterations for
/// nearly all threads.
std::optional<ReductionSplit> reduction_split(const Schedule&, const Nest&, const NestFacts&,
                                              const Environment&);

/// The reduction of a nest in parts, those outermost.
std::vector<Directive> sum_in_parts(const Schedule&, const Nest&, const ReductionSplit&);

/// The product at a loop after its reduction was split, with the loop called `parts` as the one
/// that threads share; nothing where there is none.
std::optional<Product> product_in_parts(const Schedule&, poly::LoopId, const std::string& parts,
                                        const Environment&);

} // namespace kawara::schedule
