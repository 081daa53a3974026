#pragma once

#include "program/interpret/arguments.h"
#include "program/interpret/values.h"
#include "program/program.h"

namespace kawara::program {

/// What `program` means: every statement executed in source order, one iteration after the other,
/// each operation rounded as scalar/expr.h says. Slow and obvious; every back end is tested
/// against it.
///
/// Returns the outputs and inouts by name. Outputs start as zero, temps without a value.
/// Refuses what `bind_arguments` refuses; stops at a read or write outside a tensor (K0410), a
/// read of a temp element that was not written (K0411), an integer division by zero (K0412), each
/// with the statement, its iteration and the element.
Result<Arrays, Diagnostic> interpret(const Program& program, const std::vector<int64_t>& params,
                                     Arrays inputs);

} // namespace kawara::program
