#pragma once

#include "poly/scop.h"
#include "program/rewrites/window_view.h"

#include <optional>

namespace kawara::schedule {

/// A temp that is filled with an input under a window, and zeros beside it.
struct WindowFill {
  program::WindowView view;
  std::vector<poly::StmtId>
      statements; ///< one that copies elements, and perhaps one that writes zeros
};

/// The statements that fill a temp, when together they write all of it as WindowView says: the
/// condition of the one that copies is that its element lies inside the input, and of the other
/// that it does not. `are_removed`: statements that were inlined away instead of those that were
/// not.
std::optional<WindowFill> window_fill(const poly::Scop&, uint32_t tensor, bool are_removed);

/// What a temp whose filling was inlined away is a view of.
std::optional<program::WindowView> inlined_window(const poly::Scop&, uint32_t tensor);

} // namespace kawara::schedule
