#include "kawara/spread.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace kawara::tools {
namespace {

/// Processes that want a processor right now, this one left out; nothing where the system does not say.
std::optional<int64_t> other_processes() {
  std::ifstream file("/proc/loadavg");
  double minute = 0, five = 0, fifteen = 0;
  int64_t running = 0;
  return file >> minute >> five >> fifteen >> running
             ? std::optional(std::max<int64_t>(running - 1, 0))
             : std::nullopt;
}

} // namespace

std::string spread_note(const run::Timing& timing) {
  constexpr double kLarge = 0.1;
  if (timing.spread <= kLarge)
    return "";
  const int64_t others = other_processes().value_or(0);
  return fmt::format("the times differ by {:.0f} %: {}\n", timing.spread * 100,
                     others > 0
                         ? fmt::format("{} other {} busy, measure again when the machine is quiet",
                                       others, others == 1 ? "process is" : "processes are")
                         : "the machine's clock or its caches changed meanwhile, measure again");
}

} // namespace kawara::tools
