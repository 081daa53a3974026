#pragma once

#include <cstddef>
#include <functional>

namespace kawara {

/// Calls `work` on so many threads at once, the caller's among them, and waits for all of them. It
/// must not throw.
void side_by_side(size_t threads, const std::function<void()>& work);

} // namespace kawara
