#pragma once

#include "explain/report.h"

#include <string>

namespace kawara::explain {

/// A log-log picture of speed over operations per byte, as SVG for a page: the peak, a slope for
/// each level, the program where its bytes from memory put it, and what the least traffic of any
/// order allows. Empty for a program without operations.
std::string roofline_picture(const Report&);

} // namespace kawara::explain
