#include "support/check.h"

#include <string_view>

namespace kawara {
namespace {

std::string tail_of(const char* file) {
  const std::string_view path(file);
  const auto at = path.rfind("src/");
  return std::string(at == std::string_view::npos ? path : path.substr(at));
}

} // namespace

InternalError::InternalError(const char* file, int line, const char* condition,
                             const std::string& detail)
    : std::logic_error(tail_of(file) + ":" + std::to_string(line) + ": expected " + condition +
                       ": " + detail) {}

} // namespace kawara
