#pragma once

#include <stdexcept>
#include <string>

namespace kawara {

/// Kawara itself is wrong. Carries file:line and what was seen; the tools turn it into exit code 2.
class InternalError : public std::logic_error {
public:
  InternalError(const char* file, int line, const char* condition, const std::string& detail);
};

} // namespace kawara

/// States an invariant of Kawara's own code. `detail` is evaluated only on failure.
#define KAWARA_CHECK(condition, detail)                                                            \
  do {                                                                                             \
    if (!(condition))                                                                              \
      throw ::kawara::InternalError(__FILE__, __LINE__, #condition, (detail));                     \
  } while (false)
