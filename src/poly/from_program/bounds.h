#pragma once

#include "poly/scop.h"

namespace kawara::poly {

/// One error for every access that can leave its tensor, with the first such iteration and the
/// parameter values for which there is one (K0170).
Diagnostics out_of_bounds(const Scop&);

/// Errors for reads of temp elements that nothing has written yet (K0171). Outputs that are read
/// before they are written (K0173) or not written everywhere (K0172) become warnings, and are
/// listed in `zeroed_outputs`.
Diagnostics check_initialised(Scop&);

/// The analysis ran out of its quota (K0174).
Diagnostic undecided_analysis(const Scop&);

} // namespace kawara::poly
