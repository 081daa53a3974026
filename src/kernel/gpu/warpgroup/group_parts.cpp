#include "kernel/gpu/warpgroup/group_parts.h"

#include <algorithm>

namespace kawara::kernel {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

std::string unique_buffer_name(const Kernel& kernel, const std::string& name) {
  std::string unique = name;
  const auto is_taken = [&](const Buffer& b) { return b.name == unique; };
  for (int n = 1; std::any_of(kernel.buffers.begin(), kernel.buffers.end(), is_taken); ++n)
    unique = name + "_" + std::to_string(n);
  return unique;
}

uint32_t add_group_buffer(Kernel& kernel, const std::string& name, scalar::Elem elem,
                          const std::vector<int64_t>& shape, Scope scope) {
  Buffer buffer;
  buffer.name = unique_buffer_name(kernel, name);
  buffer.elem = elem;
  for (const int64_t n : shape)
    buffer.shape.push_back(int_lit(n));
  buffer.scope = scope;
  buffer.is_swizzled = scope == Scope::Shared;
  kernel.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(kernel.buffers.size() - 1);
}

Ring add_ring(Kernel& kernel, const std::string& name, int64_t stages, Block& counters) {
  const Ring ring{add_variable(kernel, name + "_slot", scalar::kIndex),
                  add_variable(kernel, name + "_parity", scalar::kIndex), stages};
  counters.emplace_back(Define{ring.slot, int_lit(0)});
  counters.emplace_back(Define{ring.parity, int_lit(0)});
  return ring;
}

void advance(const Ring& ring, Block& out) {
  const Expr slot = scalar::var(ring.slot), parity = scalar::var(ring.parity);
  if (ring.stages == 1) {
    out.emplace_back(Assign{ring.parity, int_lit(1) - parity});
    return;
  }
  const Expr is_last = is_equal(slot, ring.stages - 1);
  out.emplace_back(Assign{ring.parity, scalar::select(is_last, int_lit(1) - parity, parity)});
  out.emplace_back(Assign{ring.slot, scalar::select(is_last, int_lit(0), slot + int_lit(1))});
}

Expr is_equal(const Expr& a, int64_t b) { return binary(BinaryOp::Eq, a, int_lit(b)); }

Expr both(const Expr& a, const Expr& b) { return binary(BinaryOp::And, a, b); }

Expr is_first_lane(const Launch& launch) {
  return both(is_equal(scalar::var(launch.thread_vars[0]), 0),
              is_equal(scalar::var(launch.thread_vars[1]), 0));
}

} // namespace kawara::kernel
