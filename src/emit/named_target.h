#pragma once

#include "emit/unit.h"
#include "target/cpu.h"

namespace kawara::emit {

/// LLVM's names for a processor of target::named_cpus(); nothing where the LLVM that is linked
/// makes no code for its architecture.
std::optional<CodeTarget> named_code_target(const target::Cpu&);

} // namespace kawara::emit
