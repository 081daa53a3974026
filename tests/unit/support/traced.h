#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace kawara {

/// Whether a debugger watches this process, asked otherwise than the code that is tested.
inline bool is_traced() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int64_t tracer = 0;
  while (status >> word)
    if (word == "TracerPid:")
      status >> tracer;
  return tracer != 0;
}

} // namespace kawara
