#pragma once

#include <cstddef>

namespace kawara {

/// Memory that starts at a multiple of 64 bytes, so that no vector crosses a cache line. Large
/// blocks start at a huge page and ask for such pages: walks down a column touch fewer of them.
/// Throws std::bad_alloc when the system has no such block. Zero bytes are none: null.
void* allocate_aligned(size_t bytes);
void free_aligned(void*);

} // namespace kawara
