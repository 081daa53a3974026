#pragma once

#include "emit/runtime_faults.h"
#include "emit/unit.h"
#include "support/diagnostic.h"

#include <optional>
#include <span>

namespace kawara::run {

/// Why a kernel does not run with these arguments and parameters, if it does not: a wrong number of
/// tensors (K0440) or parameters (K0441), memory that is null or misaligned (K0442).
std::optional<Diagnostic> refuse_arguments(const emit::Signature&, std::span<void* const> arguments,
                                           std::span<const int64_t> params);

/// The buffer whose size cannot be computed with these parameters, or null.
const emit::BufferInfo* unplannable(const emit::Signature&, std::span<const int64_t> params);

/// K0443: no memory for that buffer.
Diagnostic too_large(const emit::Signature&, const emit::BufferInfo&,
                     std::span<const int64_t> params);

/// What went wrong in a run: an index that was read from data (K0413), an integer division (K0412).
std::optional<Diagnostic> fault_of(const emit::Signature&, const emit::RuntimeFaults&);

} // namespace kawara::run
