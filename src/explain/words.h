#pragma once

#include <string>

namespace kawara::explain {

std::string duration(double seconds);               ///< "1.23 ms"
std::string amount(double value, const char* unit); ///< "3.1 MB"
std::string percent(double share);                  ///< "57 %"
std::string bar(double share, size_t width = 24);   ///< as many `#` as the share is of the width

} // namespace kawara::explain
