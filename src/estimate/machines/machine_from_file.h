#pragma once

#include "estimate/machine.h"
#include "estimate/machines/machine_file.h"

namespace kawara::estimate {

/// The processor of a file as predictions take it. Of each cache and the memory the file has one
/// bandwidth, which then stands for reading, writing, copying and triads.
Machine machine_from_file(const MachineFile&);

} // namespace kawara::estimate
