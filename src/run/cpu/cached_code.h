#pragma once

#include "run/cpu/executable.h"

#include <optional>
#include <string>
#include <string_view>

namespace kawara::run {

/// Bytes for a file. Nothing when an extent is not built from numbers and parameters by arithmetic.
std::optional<std::string> bytes_of(const KeptCode&);
/// What `bytes_of` wrote; nothing when a byte differs.
std::optional<KeptCode> kept_from_bytes(std::string_view bytes);

} // namespace kawara::run
