#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kawara::bench {

struct WorkerEnd {
  std::string text;    ///< what it wrote to its `--json` file
  std::string failure; ///< how it ended, where not well
};

/// Runs this program again, with these arguments and `--worker THREADS`, in an environment that tells
/// every library its number of threads; one thread is pinned to one core.
WorkerEnd run_worker(const std::vector<std::string>& arguments, int64_t threads,
                     const std::string& peer_folder);

} // namespace kawara::bench
