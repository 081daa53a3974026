#pragma once

#include "kernel/analysis/ranges.h"
#include "kernel/kernel.h"

#include <vector>

namespace kawara::kernel {

/// An element that every lane of a loop updates; one vector variable per copy of the body.
struct Accumulator {
  Store update; ///< index and op of the element; the value is the loop body's
  scalar::Type type;
  std::vector<uint32_t> vars;
  Expr sum = {}; ///< of all of them, while their lanes are added up
};

/// Whether both update the same element in the same way.
bool is_same_update(const Store&, const Store&);

/// Whether nothing else in a loop's body sees the element between two updates. The element is the
/// same in all iterations, so a load that is apart from it in each of them never meets it; `inside`
/// knows the loop and those around it.
bool is_only_access(const Kernel&, const Block& body, const Store& update, const Ranges& inside);

/// All variables of an accumulator as one.
Expr whole_sum(const Accumulator&);

/// The update by all lanes of `sum`.
Store stored_sum(const Accumulator&, const Expr& sum);

} // namespace kawara::kernel
