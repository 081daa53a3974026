#include "tune/measure/load_monitor.h"

#include "tune/clock.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <string>
#include <unistd.h>

namespace kawara::tune {
namespace {

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0)
    return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set))
      cores.push_back(core);
  return cores;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

} // namespace

double busy_seconds(std::string_view stat, const std::vector<int>& cores, double tick) {
  std::istringstream lines{std::string(stat)};
  double busy = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (std::none_of(cores.begin(), cores.end(),
                     [&](int core) { return name == "cpu" + std::to_string(core); }))
      continue;
    // Idle and waiting for a disk are nobody's work; what a hypervisor took for others is.
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, stolen = 0;
    fields >> user >> nice >> system >> idle >> wait >> irq >> softirq >> stolen;
    busy += (user + nice + system + irq + softirq + stolen) * tick;
  }
  return busy;
}

LoadMonitor::LoadMonitor(int64_t threads) : cores_(own_cores()), threads_(threads), begin_(now()) {}

LoadMonitor::Moment LoadMonitor::now() const {
  std::ifstream file("/proc/stat");
  std::ostringstream text;
  text << file.rdbuf();
  const double tick = 1.0 / static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return {steady_seconds(), busy_seconds(text.str(), cores_, tick), processor_seconds()};
}

double LoadMonitor::missing() const {
  const Moment end = now();
  const double passed = end.clock - begin_.clock;
  if (cores_.empty() || passed <= 0)
    return 0;
  const double others = ((end.busy - begin_.busy) - (end.own - begin_.own)) / passed;
  const double spare = static_cast<double>(static_cast<int64_t>(cores_.size()) - threads_);
  return std::max(0.0, others - std::max(0.0, spare));
}

} // namespace kawara::tune
