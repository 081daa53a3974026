#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kawara::bench {

/// Runs this program again, with these arguments and `--worker THREADS`, in an environment that tells
/// every library its number of threads; one thread is pinned to one core. Returns what it wrote to
/// its `--json` file; nothing when it failed.
std::optional<std::string> run_worker(const std::vector<std::string>& arguments, int64_t threads,
                                      const std::string& peer_folder);

} // namespace kawara::bench
