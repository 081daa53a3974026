#pragma once

#include "cpu/case.h"

namespace kawara::bench {

/// Where a tensor of a program comes from.
enum class Slot : uint8_t { A, B, C, Out };

/// A case in Kawara's language, as a user would write it: one program, or several that run one after
/// the other. Inputs and outputs that have no slot are memory between programs, the same for the
/// same name.
struct ProgramTexts {
  std::vector<std::string> programs;
  std::map<std::string, Slot> slots;
};

/// The whole case as one program.
ProgramTexts fused_program(const Case&);

/// The same with every operation a program of its own, so that each intermediate result goes through
/// memory. No programs where there is only one operation.
ProgramTexts separate_programs(const Case&);

} // namespace kawara::bench
