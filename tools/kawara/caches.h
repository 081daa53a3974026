#pragma once

#include "cache/description.h"
#include "estimate/machines/machine_file.h"

namespace kawara::tools {

/// The caches of a machine file; `name` is what `--machine` was given. Refuses one that names none,
/// or not their ways (K0473).
Parsed<std::vector<cache::Description>> caches_of_file(const estimate::MachineFile&,
                                                       const std::string& name);

} // namespace kawara::tools
