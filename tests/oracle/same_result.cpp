#include "oracle/same_result.h"

#include <cmath>

namespace kawara::oracle {

using program::Array;

namespace {

bool is_same(const Array& got, const Array& expected, int64_t at, double tolerance) {
  if (!scalar::is_float(expected.elem()))
    return got.get(at).i == expected.get(at).i;
  const double a = got.get_double(at);
  const double b = expected.get_double(at);
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

std::string text_of(const Array& array, int64_t at) {
  return scalar::is_float(array.elem()) ? std::to_string(array.get_double(at))
                                        : std::to_string(array.get(at).i);
}

} // namespace

std::optional<std::string> difference(const program::Arrays& got, const program::Arrays& expected,
                                      double tolerance) {
  for (const auto& [name, want] : expected) {
    const auto have = got.find(name);
    if (have == got.end())
      return name + " is missing";
    if (have->second.elem() != want.elem() || have->second.shape() != want.shape())
      return name + " has another shape or type";
    for (int64_t at = 0; at < want.elements(); ++at)
      if (!is_same(have->second, want, at, tolerance))
        return name + ", element " + std::to_string(at) + ": " + text_of(have->second, at) +
               " instead of " + text_of(want, at);
  }
  return std::nullopt;
}

} // namespace kawara::oracle
