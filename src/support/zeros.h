#pragma once

#include <cstddef>

namespace kawara {

/// Memory like that of `allocate_aligned`, all zeros. Large blocks are fresh from the system, which
/// gives them out as zeros: nothing writes them before their owner does, and what it never touches
/// takes no memory.
void* allocate_zeros(size_t bytes);
/// For what `allocate_zeros` gave for so many bytes.
void free_zeros(void*, size_t bytes);

} // namespace kawara
