#include "tune/tuner/tuned.h"

#include <cstdlib>
#include <filesystem>

namespace kawara::tune {

std::string default_database() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0')
    return std::string(cache) + "/kawara/tune.db";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache/kawara/tune.db" : "";
}

std::optional<Tuned> tuned_schedule(const driver::Request& request,
                                    const schedule::Environment& environment, int64_t threads,
                                    const std::string& database) {
  std::error_code ignored;
  if (database.empty() || !std::filesystem::exists(database, ignored))
    return std::nullopt;
  const auto task = task_of(request, environment, threads);
  if (!task)
    return std::nullopt;
  const auto opened = Database::open(database);
  if (!opened)
    return std::nullopt;
  const auto best = opened->best(key_of(*task));
  if (!best || !*best)
    return std::nullopt;
  const Best& found = **best;
  Tuned tuned{make_source("tuned", found.directives),
              found.seconds > 0 ? found.default_seconds / found.seconds : 1};
  driver::Request proof = task->request;
  proof.directives = tuned.directives;
  Trace trace;
  if (!driver::schedule(proof, environment, trace))
    return std::nullopt;
  return tuned;
}

} // namespace kawara::tune
