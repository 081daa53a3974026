#pragma once

#include "estimate/machine.h"

#include <filesystem>

namespace kawara::driver {

/// The figures below are of a whole processor: for this machine's they are those of all its cores,
/// also where plans are for fewer (KAWARA_THREADS).

/// Where the figures of this processor are kept between runs: kawara/machine-KEY.json in
/// $XDG_CACHE_HOME, or in ~/.cache. Empty when there is no such folder.
std::filesystem::path machine_file(const target::Cpu&);

/// Figures that were measured earlier on this processor; nothing when there are none or they are of
/// another one.
std::optional<estimate::Machine> kept_machine(const target::Cpu&);

/// Measures with as many threads as there are cores, and keeps the figures where that is possible.
estimate::Machine measured_machine(const target::Cpu&);

/// The kept figures or, without any, those that follow from the description. Measures nothing.
estimate::Machine known_machine(const target::Cpu&);

} // namespace kawara::driver
