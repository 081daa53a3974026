#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace kawara::emit {

/// Blocks of so many threads that a multiprocessor shall have at a time; the compiler keeps
/// registers so few that they fit. `buffers` are those that the body touches. `has_tails`: it looks
/// gelu up in shared memory.
int64_t blocks_in_flight(const kernel::Kernel&, const kernel::Block& body,
                         const std::vector<uint32_t>& buffers, int64_t threads, bool has_tails);

/// Stores only, some of them under conditions, of values that none of them changes: loads may come
/// before stores.
bool is_map(const kernel::Block& body);

/// Whether copies to shared memory are under way while the body computes.
bool copies_ahead(const kernel::Block& body);

} // namespace kawara::emit
