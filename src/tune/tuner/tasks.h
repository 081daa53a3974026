#pragma once

#include "tune/search/search.h"
#include "tune/tuner/shares.h"

#include <memory>
#include <string>
#include <vector>

namespace kawara::tune {

/// One program of several that are tuned together.
struct SharedTask {
  std::string name; ///< for people
  Task task;
  int64_t uses = 1; ///< places where it runs
};

/// Makes what measures a task.
using MakeMeasurer =
    std::function<std::unique_ptr<Measurer>(const std::shared_ptr<const Reference>&)>;

struct TaskReport {
  std::string name;
  int64_t uses = 1;
  double default_seconds = 0, seconds = 0; ///< of one call; equal where the default stays
  int64_t rounds = 0;
  TuneReport report;
  Diagnostics errors; ///< why it could not be tuned; its default stays
};

struct TasksOptions {
  TuneOptions each; ///< its budget is that of all together
  /// Told after each round: the task, and what is expected of all tasks now (seconds).
  std::function<void(const TaskReport&, double before, double now)> on_round;
};

/// Tasks that are worth tuning, those with the most work first: what is left out does less than a
/// hundredth of all operations together.
std::vector<SharedTask> worth_tuning(std::vector<SharedTask>);

/// Tunes tasks with one budget, a batch here and a batch there, wherever the whole is expected to
/// gain most (shares.h). The reports are in the order of the tasks.
Parsed<std::vector<TaskReport>> tune_tasks(std::vector<SharedTask>, const MakeMeasurer&, Database*,
                                           const TasksOptions&);

} // namespace kawara::tune
