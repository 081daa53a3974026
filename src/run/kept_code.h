#pragma once

#include "run/executable.h"

#include <optional>
#include <string>
#include <string_view>

namespace kawara::run {

/// Bytes for a file. Nothing when the signature has parameters: sizes in files are numbers.
std::optional<std::string> bytes_of(const KeptCode&);
/// What `bytes_of` wrote; nothing when a byte differs.
std::optional<KeptCode> kept_from_bytes(std::string_view bytes);

} // namespace kawara::run
