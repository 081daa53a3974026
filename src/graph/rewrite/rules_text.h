#pragma once

#include <string_view>

namespace kawara::rewrite {

/// The files rules/*.rules one after the other; the build writes them into the library.
std::string_view rules_text();

} // namespace kawara::rewrite
