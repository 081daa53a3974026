#pragma once

#include <isl/cpp.h>

#include <string>

namespace kawara::poly {

// isl's own notation.
std::string text_of(const isl::set&);
std::string text_of(const isl::map&);

} // namespace kawara::poly
