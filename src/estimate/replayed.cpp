#include "estimate/replayed.h"

#include <fmt/format.h>

namespace kawara::estimate {
namespace {

std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.4g} GB", bytes * 1e-9)
         : bytes >= 1e6 ? fmt::format("{:.4g} MB", bytes * 1e-6)
                        : fmt::format("{:.4g} kB", bytes * 1e-3);
}

} // namespace

std::string print(const Replayed& replayed, const Prediction& prediction) {
  std::string text = fmt::format("replayed {:.4g} million loads and stores of one call\n"
                                 "{:<12}{:>12}{:>12}{:>12}{:>12}{:>14}\n",
                                 static_cast<double>(replayed.accesses) * 1e-6, "from", "read",
                                 "written", "together", "predicted", "of it");
  for (size_t k = 0; k < replayed.levels.size(); ++k) {
    const ReplayedLevel& level = replayed.levels[k];
    const double together = level.read + level.written, predicted = prediction.levels[k].bytes;
    text +=
        fmt::format("{:<12}{:>12}{:>12}{:>12}{:>12}{:>14}\n", level.name, bytes_text(level.read),
                    bytes_text(level.written), bytes_text(together), bytes_text(predicted),
                    predicted > 0 ? fmt::format("{:.0f} %", together / predicted * 100) : "-");
  }
  if (replayed.assumed > 0)
    text += fmt::format("{} {} on data {} taken to hold\n", replayed.assumed,
                        replayed.assumed == 1 ? "condition" : "conditions",
                        replayed.assumed == 1 ? "was" : "were");
  return text;
}

} // namespace kawara::estimate
