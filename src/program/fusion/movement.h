#pragma once

#include "program/program.h"

namespace kawara::program::fusion {

/// Does the program only bring elements to other places? Every value that it stores is one that it
/// reads, as it is, or a constant; which of them may depend on where it is stored.
bool is_movement(const Program&);

/// Bytes that the program writes, of tensors whose extents are numbers.
int64_t bytes_written(const Program&);

} // namespace kawara::program::fusion
