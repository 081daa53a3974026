#pragma once

#include "estimate/energy/energy.h"

#include <string>
#include <vector>

namespace kawara::explain {

std::string duration(double seconds);               ///< "1.23 ms"
std::string amount(double value, const char* unit); ///< "3.1 MB"
std::string percent(double share);                  ///< "57 %"
std::string bar(double share, size_t width = 24);   ///< as many `#` as the share is of the width

std::string joules(const estimate::Band&); ///< "2 mJ (1 mJ to 3 mJ)"
/// A blank line, and a line for each of the first two things that a report does not have.
std::string missing_lines(const std::vector<std::string>& missing);

} // namespace kawara::explain
