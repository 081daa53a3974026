#pragma once

#include "kernel/vars.h"

#include <set>

namespace kawara::kernel {

/// Whether an expression has one value wherever only these variables get values and only these
/// buffers are stored to.
inline bool is_fixed(const Expr& e, const VarSet& vars, const std::set<uint32_t>& buffers) {
  bool stays = !mentions_any(e, vars);
  scalar::visit(e, [&](const Expr& node) {
    const auto* load = scalar::as<scalar::Load>(node);
    stays = stays && (load == nullptr || !buffers.contains(load->tensor));
  });
  return stays;
}

} // namespace kawara::kernel
