#pragma once

#include <chrono>

namespace kawara::tune {

/// Seconds since some moment; never goes back.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace kawara::tune
