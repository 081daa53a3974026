#include "../unit/tune/hash_bench.h"

#include "run/cpu/threads.h"
#include "tune/ranks/ranks.h"
#include "tune/tuner/tuner.h"

#include <fmt/core.h>

#include <cstdlib>
#include <set>
#include <thread>

/// ranks DATABASE TRIALS [SLOW_RANK]: under mpirun, searches with candidates that crash, hang, are
/// refused or are wrong, as their text says; exits with 0 when every trial in the database is what
/// it should be. The slow rank takes its time for every candidate, and has to get fewer. ranks
/// DATABASE: prints the number of trials in the database, if all are what they should be.
namespace kawara::tune {
namespace {

Task task_here() {
  driver::Request request = small_reference()->task.request;
  auto task = task_of(std::move(request), driver::host_environment(), run::default_threads());
  if (!task)
    throw std::runtime_error(render(task.error()));
  return *std::move(task);
}

class SlowBench : public HashBench {
public:
  Prepared prepare(uint32_t id, const std::string& directives) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return HashBench::prepare(id, directives);
  }
};

int measure(bool is_slow) {
  const auto served = serve_rank([&](const Task&) -> Parsed<MakeBench> {
    if (!is_slow)
      return hash_benches();
    return MakeBench([]() -> Parsed<std::unique_ptr<Bench>> {
      return std::unique_ptr<Bench>(std::make_unique<SlowBench>());
    });
  });
  return served ? 0 : 1;
}

/// Number of trials; nothing when one is not what its text says.
std::optional<size_t> checked(const std::string& path) {
  auto database = Database::open(path);
  const auto trials = database ? database->trials(key_of(task_here()))
                               : Result<std::vector<Trial>, Diagnostic>(fail(database.error()));
  if (!trials)
    return std::nullopt;
  std::set<std::string> texts;
  for (const Trial& trial : *trials)
    // On a busy machine the second that a candidate has may pass without it.
    if ((trial.outcome != fate_of(trial.directives).outcome &&
         trial.outcome != Outcome::TimedOut) ||
        !texts.insert(trial.directives).second) {
      fmt::print("`{}` is {}\n", trial.directives, name_of(trial.outcome));
      return std::nullopt;
    }
  return trials->size();
}

int search(const std::string& path, int64_t trials, int slow) {
  auto database = Database::open(path);
  auto reference = reference_of(task_here());
  if (!database || !reference)
    return 1;
  TuneOptions options;
  options.budget = {300, trials};
  options.limits = {20, 1, 1, int64_t{1} << 30};
  options.batch = 24;
  Crew crew(started_by_mpirun()->ranks);
  RankMeasurer measurer(crew, (*reference)->task, 2, options.limits);
  const auto report = tune(*reference, measurer, &*database, options);
  if (!report) {
    fmt::print("{}", render(report.error()));
    return 1;
  }
  int64_t most = 0, by_slow = 0;
  for (const Helper& helper : measurer.helpers()) {
    fmt::print("rank {}: {} candidates\n", helper.rank, helper.answered);
    most = std::max(most, helper.answered);
    by_slow += helper.rank == slow ? helper.answered : 0;
  }
  const bool is_fair = slow == 0 || (by_slow > 0 && by_slow < most);
  const bool is_right =
      report->best && fate_of(report->best->directives).outcome == Outcome::Measured;
  fmt::print("{} trials, {} measured, winner {}\n", report->trials.size(),
             report->progress.outcomes.at(Outcome::Measured), is_right ? "right" : "wrong");
  return is_fair && is_right && report->trials.size() == static_cast<size_t>(trials) &&
                 checked(path)
             ? 0
             : 1;
}

int main_of(int count, char** arguments) {
  const auto here = started_by_mpirun();
  if (count == 2) {
    const auto trials = checked(arguments[1]);
    fmt::print("{}\n", trials ? static_cast<int64_t>(*trials) : -1);
    return trials ? 0 : 1;
  }
  const int slow = count > 3 ? std::atoi(arguments[3]) : 0;
  if (here && here->rank > 0)
    return measure(here->rank == slow);
  return here && count > 2 ? search(arguments[1], std::atoll(arguments[2]), slow) : 2;
}

} // namespace
} // namespace kawara::tune

int main(int count, char** arguments) { return kawara::tune::main_of(count, arguments); }
