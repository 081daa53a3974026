#pragma once

#include "program/interpret/values.h"

#include <optional>
#include <string>

namespace kawara::oracle {

/// The first element that differs, in words; empty when there is none. Floats are compared as
/// numbers (minus zero is zero) that may lie `tolerance` apart for each unit of their size,
/// everything else by its bits.
std::optional<std::string> difference(const program::Arrays& got, const program::Arrays& expected,
                                      double tolerance = 0);

} // namespace kawara::oracle
