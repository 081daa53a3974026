#pragma once

#include <string>

namespace kawara {

/// A text that differs between any two builds of Kawara: the linker's identifier of the program or
/// library that this code is part of. Empty where the linker left none.
std::string build_id();

} // namespace kawara
