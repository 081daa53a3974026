#include "tune/tuner/shares.h"

#include <algorithm>

namespace kawara::tune {
namespace {

/// Weight of the past against hope, how far behind the best of its kind a task is hoped to get, and
/// rounds that count as the past: the constants of Ansor's task scheduler.
constexpr double kPast = 0.2, kBehind = 2;
constexpr size_t kRoundsBack = 3;

/// Operations a second of the fastest task of a kind.
double speed_of(const std::vector<TaskState>& tasks, const std::string& kind) {
  double speed = 0;
  for (const TaskState& task : tasks)
    if (task.kind == kind && !task.best.empty() && task.best.back() > 0)
      speed = std::max(speed, task.work / task.best.back());
  return speed;
}

} // namespace

double expected_change(const std::vector<TaskState>& tasks, size_t index) {
  const TaskState& task = tasks[index];
  if (task.best.empty())
    return 0;
  const size_t rounds = task.best.size();
  const size_t back = std::min(kRoundsBack, rounds);
  const double now = task.best.back();
  const double before =
      rounds > back ? task.best[rounds - 1 - back] : std::max(task.first_seconds, now);
  const double past = (now - before) / static_cast<double>(back);
  const double speed = speed_of(tasks, task.kind);
  double hoped = now - now / static_cast<double>(rounds);
  if (speed > 0)
    hoped = std::min(hoped, kBehind * task.work / speed);
  return task.uses * (kPast * past + (1 - kPast) * (hoped - now));
}

std::optional<size_t> next_task(const std::vector<TaskState>& tasks) {
  std::optional<size_t> chosen;
  double largest = 0;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (tasks[k].is_finished)
      continue;
    if (tasks[k].best.empty())
      return k;
    const double change = expected_change(tasks, k);
    if (!chosen || change < largest) {
      chosen = k;
      largest = change;
    }
  }
  return chosen;
}

} // namespace kawara::tune
