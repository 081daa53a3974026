#pragma once

#include "oracle/check.h"

namespace kawara::oracle {

/// Carries a schedule out as code at the subject's sizes: the loops, the kernel after every pass
/// (both by the checking interpreter: bounds, races, elements not yet written) and the machine
/// code. Each must give the interpreter's result. Says what went wrong; empty: nothing. Machine
/// code that needs an instruction of another machine is left out.
std::optional<std::string> wrong_code(const Subject&, const schedule::Schedule&,
                                      const schedule::Environment&, uint64_t seed);

} // namespace kawara::oracle
