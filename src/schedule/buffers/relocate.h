#pragma once

#include "schedule/propose.h"

#include <functional>

namespace kawara::schedule {

/// Where the elements of a tensor go: the shape they get, and from an index in the tensor the index
/// there. Different elements must stay different.
struct Placement {
  using Index = std::function<std::vector<scalar::Expr>(const std::vector<scalar::Expr>&)>;
  std::vector<scalar::Expr> shape;
  Index index;
  std::optional<scalar::Elem> elem =
      std::nullopt; ///< one that holds all values of the tensor's; none: that
};

/// The schedule with a tensor's elements elsewhere. A temp gets the shape itself. Elements of
/// inputs and outputs belong to the caller: they move to a temp called after the tensor and
/// `suffix`, filled before everything and copied back after everything, by statements under the
/// next free numbers whose loops are called after the dimensions. A sentence when that cannot be
/// done.
Result<Proposal, std::string> relocated(const Schedule&, uint32_t tensor, const Placement&,
                                        const std::string& suffix);

} // namespace kawara::schedule
