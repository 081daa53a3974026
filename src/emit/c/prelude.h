#pragma once

#include <set>
#include <string>

namespace kawara::emit {

/// What stands above the function: includes and the helper functions it needs, by name (floordiv,
/// mod, min, max, abs, alloc, bf16, f8e4m3, f8e5m2).
std::string c_prelude(const std::set<std::string>& helpers, bool is_exact);

/// A header with the prototype and the types among `helpers`, guarded, usable from C++.
std::string c_header(const std::string& prototype, const std::string& function,
                     const std::set<std::string>& helpers);

} // namespace kawara::emit
