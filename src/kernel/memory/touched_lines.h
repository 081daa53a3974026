#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace kawara::kernel {

/// One index for each cache line of a buffer that a loop's body touches, in order of first
/// appearance, at most as many as a core can have under way. Variables of the body are replaced by
/// what they are in the first iteration of their loops; elements whose place depends on a load are
/// left out.
std::vector<std::vector<Expr>> touched_lines(const Kernel&, uint32_t buffer, const Block& body);

} // namespace kawara::kernel
