#include "support/memory.h"

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace kawara {
namespace {

std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt; // "max" is none
}

/// What /proc/meminfo calls MemAvailable: free pages and those that caches can give back.
int64_t available() {
  std::ifstream file("/proc/meminfo");
  for (std::string name, unit; file >> name;) {
    int64_t kilobytes = 0;
    if (!(file >> kilobytes))
      break;
    std::getline(file, unit);
    if (name == "MemAvailable:")
      return kilobytes * 1024;
  }
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

/// What the control groups around this process leave, from its own to the root (version 2:
/// "0::/user.slice/…").
int64_t left_in_groups() {
  int64_t left = INT64_MAX;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::"))
      continue;
    for (std::string group = line.substr(3);;) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const auto most = number_in(folder + "/memory.max"),
                 used = number_in(folder + "/memory.current");
      if (most && used)
        left = std::min(left, std::max<int64_t>(*most - *used, 0));
      const size_t slash = group.rfind('/');
      if (slash == std::string::npos || group.size() <= 1)
        break;
      group.resize(slash);
    }
  }
  return left;
}

int64_t left_in_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return INT64_MAX;
  const int64_t used = number_in("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) - used, 0);
}

} // namespace

int64_t memory_left() { return std::min({available(), left_in_groups(), left_in_address_space()}); }

std::string bytes_text(int64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes >= 1'000'000'000 ? fmt::format("{:.1f} GB", number * 1e-9)
         : bytes >= 1'000'000   ? fmt::format("{:.1f} MB", number * 1e-6)
                                : fmt::format("{} bytes", bytes);
}

} // namespace kawara
