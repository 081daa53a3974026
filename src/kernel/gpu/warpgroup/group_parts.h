#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// A name that no buffer has.
std::string unique_buffer_name(const Kernel&, const std::string& name);

/// A new buffer of constant shape. Shared ones are swizzled.
uint32_t add_group_buffer(Kernel&, const std::string& name, scalar::Elem,
                          const std::vector<int64_t>& shape, Scope);

/// Variables that go round a ring of barriers: which slot is next, and the parity of its phase.
/// They go on over all tiles of a block.
struct Ring {
  uint32_t slot = 0, parity = 0;
  int64_t stages = 1;
};
/// Defines them in `counters`.
Ring add_ring(Kernel&, const std::string& name, int64_t stages, Block& counters);
void advance(const Ring&, Block& out);

Expr is_equal(const Expr&, int64_t);
Expr both(const Expr&, const Expr&);
/// The first thread of a warp.
Expr is_first_lane(const Launch&);

} // namespace kawara::kernel
