#pragma once

#include "emit/cuda/lanes.h"

namespace kawara::emit {

/// Whether many blocks read these 16 bytes, from a small operand (a bias, a scale): they are worth
/// keeping in the cache that whatever else a block reads, once, passes through.
bool is_repeated(const kernel::Kernel&, const kernel::Launch&, const Definitions&,
                 const scalar::Expr& load);

} // namespace kawara::emit
