#pragma once

#include "schedule/propose.h"

#include <string>
#include <vector>

namespace kawara::schedule {

/// A tensor of which every iteration of the loops around has a copy.
struct PrivateBuffer {
  uint32_t tensor = 0;
  std::vector<scalar::Expr> lows; ///< smallest value of each of these loops

  /// The element at `position` of iteration `outer`'s copy.
  std::vector<scalar::Expr> element(const std::vector<scalar::Expr>& outer,
                                    const std::vector<scalar::Expr>& position) const;
};

/// Adds one for elements of the tensor `of`, called after it. `used` is { [o, ...] }, the
/// iterations o of the `depth` loops that have a copy; `extents` are a copy's.
PrivateBuffer add_private_buffer(Proposal&, uint32_t of, const std::string& suffix,
                                 const isl::set& used, size_t depth,
                                 const std::vector<scalar::Expr>& extents);

} // namespace kawara::schedule
