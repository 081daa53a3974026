#include "kawara/spread.h"

#include <algorithm>
#include <fstream>

namespace kawara::tools {
namespace {

/// Processes that want a processor right now, this one left out; 0 where the system does not say.
int64_t other_processes() {
  std::ifstream file("/proc/loadavg");
  double minute = 0, five = 0, fifteen = 0;
  int64_t running = 0;
  return file >> minute >> five >> fifteen >> running ? std::max<int64_t>(running - 1, 0) : 0;
}

} // namespace

std::string spread_note(const run::Timing& timing, run::RanOn ran_on) {
  return run::spread_note(timing, ran_on, other_processes());
}

} // namespace kawara::tools
