#pragma once

#include "poly/scop.h"
#include "support/diagnostic.h"

namespace kawara::driver {

/// Kernels tell that something went wrong, not always where. These name the statements that can
/// have done it.

/// K0412 with the statements that divide integers by what may be zero.
Diagnostic with_divisions(Diagnostic, const program::Program&);

/// K0413 with the place of the statement that its label names.
Diagnostic with_place(Diagnostic, const program::Program&);

/// K0713 with the statements whose indices data give and nothing proves to be inside: a GPU ends
/// the launch where one is outside of its tensor. As it was where there are none.
Diagnostic with_data_indices(Diagnostic, const poly::Scop&);

} // namespace kawara::driver
