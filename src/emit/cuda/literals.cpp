#include "emit/cuda/literals.h"

#include <array>
#include <charconv>
#include <cmath>

namespace kawara::emit {

using scalar::Elem;

std::string cuda_float_text(double value, Elem elem) {
  const bool is_double = elem == Elem::F64;
  if (std::isnan(value))
    return is_double ? "kw_nan()" : "(float)kw_nan()";
  if (std::isinf(value))
    return std::string(value > 0 ? "" : "-") + (is_double ? "kw_inf()" : "(float)kw_inf()");
  std::array<char, 64> buffer{};
  const auto end = is_double
                       ? std::to_chars(buffer.begin(), buffer.end(), value).ptr
                       : std::to_chars(buffer.begin(), buffer.end(), static_cast<float>(value)).ptr;
  std::string text(buffer.begin(), end);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return is_double ? text : text + "f";
}

std::string cuda_int_text(int64_t value, Elem elem) {
  if (elem == Elem::Bool)
    return value != 0 ? "true" : "false";
  if (elem == Elem::U64)
    return std::to_string(static_cast<uint64_t>(value)) + "ull";
  if (value == INT64_MIN)
    return "(-9223372036854775807LL - 1)";
  if (value == INT32_MIN)
    return "(-2147483647 - 1)";
  const bool is_wide = value > INT32_MAX || value < INT32_MIN;
  return std::to_string(value) + (is_wide ? "LL" : "");
}

} // namespace kawara::emit
