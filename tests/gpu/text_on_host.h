#pragma once

#include "driver/gpu/gpu_programs.h"
#include "program/interpret/arguments.h"

#include <string>
#include <vector>

namespace kawara::operator_models {

/// Whether a compiler for this machine can make sense of the kernel's CUDA text: no instructions of
/// the device in it, and sizes that are known.
bool is_text_for_host(const driver::GpuProgram&);

/// Whether there is a compiler to do so.
bool has_host_compiler();

/// What the kernel's CUDA text itself makes of these arguments, in the order of its signature:
/// compiled for this machine, with undefined behaviour trapped, and run block after block, each
/// thread up to the next barrier in turn. A sentence when the compiler refuses it or it traps.
Result<std::vector<program::Array>, std::string>
results_of_text(const driver::GpuProgram&, std::vector<program::Array> arguments);

} // namespace kawara::operator_models
