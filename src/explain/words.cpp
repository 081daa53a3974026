#include "explain/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::explain {
namespace {

/// Whether three digits of the value are at least 1 in that unit: 999.7 k is 1 M.
bool reaches(double value, double scale) { return value >= scale * 0.9995; }

} // namespace

std::string duration(double seconds) {
  for (const auto& [scale, unit] : {std::pair{1.0, "s"}, std::pair{1e-3, "ms"}})
    if (reaches(seconds, scale))
      return fmt::format("{:.3g} {}", seconds / scale, unit);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string amount(double value, const char* unit) {
  for (const auto& [scale, prefix] :
       {std::pair{1e12, "T"}, std::pair{1e9, "G"}, std::pair{1e6, "M"}, std::pair{1e3, "k"}})
    if (reaches(value, scale))
      return fmt::format("{:.3g} {}{}", value / scale, prefix, unit);
  for (const auto& [scale, prefix] :
       {std::pair{1.0, ""}, std::pair{1e-3, "m"}, std::pair{1e-6, "u"}, std::pair{1e-9, "n"},
        std::pair{1e-12, "p"}})
    if (reaches(value, scale))
      return fmt::format("{:.3g} {}{}", value / scale, prefix, unit);
  return fmt::format("0 {}", unit);
}

std::string percent(double share) {
  return share > 0 && share < 0.01 ? fmt::format("{:.1g} %", share * 100)
                                   : fmt::format("{:.0f} %", share * 100);
}

std::string bar(double share, size_t width) {
  const double length = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  return std::string(static_cast<size_t>(std::lround(length)), '#');
}

std::string joules(const estimate::Band& band) {
  return fmt::format("{} ({} to {})", amount(band.value, "J"), amount(band.low, "J"),
                     amount(band.high, "J"));
}

std::string missing_lines(const std::vector<std::string>& missing) {
  constexpr size_t most = 2;
  std::string text = "\n";
  for (size_t k = 0; k < std::min(missing.size(), most); ++k)
    text += "Missing: " + missing[k] + "\n";
  if (missing.size() > most)
    text += fmt::format("Missing: {} more things, in --json\n", missing.size() - most);
  return text;
}

} // namespace kawara::explain
