#include "kawara/spread.h"

#include <algorithm>
#include <fstream>

namespace kawara::tools {

int64_t other_processes() {
  std::ifstream file("/proc/loadavg");
  double minute = 0, five = 0, fifteen = 0;
  int64_t running = 0;
  return file >> minute >> five >> fifteen >> running ? std::max<int64_t>(running - 1, 0) : 0;
}

std::string spread_note(const run::Timing& timing, run::RanOn ran_on) {
  return run::spread_note(timing, ran_on, other_processes());
}

} // namespace kawara::tools
