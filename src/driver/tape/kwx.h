#pragma once

#include "driver/tape/tape.h"

#include <string>

namespace kawara::driver {

/// Writes a tape as a `.kwx` file: machine code, constants, what kernels have prepared from them so
/// far, and the steps, with the processor that all of it is for. Refuses a file that cannot be
/// written (K0425).
Result<Done, Diagnostic> write_kwx(const Tape&, const std::string& path);

struct KwxOptions {
  bool checks_data = false; ///< also the sum over constants, which reads all of them
};

/// The tape in a `.kwx` file. Constants are mapped, not read. Refuses a file that cannot be read
/// (K0420), one of another kind or version (K0564), one that is cut off or damaged (K0565), and one
/// for a processor that has what this one has not (K0566).
Result<Tape, Diagnostic> read_kwx(const std::string& path, const KwxOptions& = {});

} // namespace kawara::driver
