#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// `scop` without checks of indices that are inside for all data: those that types and `assume`
/// allow, and what loops, bounds and clamps leave of them. Its domains and tensors are there; its
/// dependences need not be.
Scop with_proved_indices(Scop scop);

} // namespace kawara::poly
