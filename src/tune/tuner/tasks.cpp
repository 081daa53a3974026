#include "tune/tuner/tasks.h"

#include "estimate/count.h"
#include "tune/clock.h"

#include <algorithm>
#include <cctype>

namespace kawara::tune {
namespace {

/// Share of all operations that tasks may be left out for.
constexpr double kNegligible = 0.01;

double operations_of(const Task& task) {
  const auto work = estimate::count(task.program, task.sizes);
  double sum = 0;
  for (size_t s = 0; work && s < work->statements.size(); ++s)
    sum += work->statements[s].instances;
  return std::max(sum, 1.0);
}

/// The text of a program with all its numbers alike.
std::string kind_of(const Task& task) {
  std::string kind;
  for (const char c : key_of(task).program) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind;
}

/// A task on its way.
struct Running {
  TuneOptions options;
  std::shared_ptr<const Reference> reference;
  std::unique_ptr<Measurer> measurer;
  std::unique_ptr<Search> search;
};

class SharedSearch {
public:
  SharedSearch(std::vector<SharedTask> tasks, const MakeMeasurer& make, Database* database,
               const TasksOptions& options)
      : tasks_(std::move(tasks)), make_(make), database_(database), options_(options),
        begin_(steady_seconds()), running_(tasks_.size()) {
    for (const SharedTask& task : tasks_) {
      reports_.push_back({task.name, task.uses, 0, 0, 0, {}, {}});
      TaskState state;
      state.uses = static_cast<double>(task.uses);
      state.work = operations_of(task.task);
      state.kind = kind_of(task.task);
      states_.push_back(std::move(state));
    }
  }

  Parsed<std::vector<TaskReport>> run() {
    while (!is_over()) {
      const auto next = next_task(states_);
      if (!next)
        break;
      KAWARA_TRY([[maybe_unused]] const Done done, round(*next));
    }
    for (size_t k = 0; k < tasks_.size(); ++k) {
      KAWARA_TRY([[maybe_unused]] const Done done, finish(k));
    }
    return std::move(reports_);
  }

private:
  int64_t trials() const {
    int64_t sum = 0;
    for (const Running& task : running_)
      sum += task.search ? task.search->progress().trials : 0;
    return sum;
  }

  bool is_over() const {
    const Budget& budget = options_.each.budget;
    return (options_.each.should_stop && options_.each.should_stop()) ||
           (budget.seconds > 0 && steady_seconds() - begin_ >= budget.seconds) ||
           (budget.trials > 0 && trials() >= budget.trials);
  }

  /// What concerns one task only is its own loss.
  Parsed<Done> begin(size_t k) {
    Running& own = running_[k];
    own.options = options_.each;
    own.options.budget = {0, 0};
    own.options.on_progress = {};
    own.options.should_stop = [this] { return is_over(); };
    KAWARA_TRY(own.reference, reference_of(tasks_[k].task));
    own.measurer = make_(own.reference);
    own.search = std::make_unique<Search>(*own.reference, *own.measurer, database_, own.options);
    return own.search->begin();
  }

  Parsed<Done> round(size_t k) {
    Running& own = running_[k];
    if (!own.search)
      if (auto begun = begin(k); !begun) {
        reports_[k].errors = std::move(begun).error();
        states_[k].is_finished = true;
        own.search = nullptr;
        return Done{};
      }
    if (options_.each.budget.trials > 0)
      own.options.batch = std::min(options_.each.batch,
                                   static_cast<size_t>(options_.each.budget.trials - trials()));
    KAWARA_TRY(const bool goes_on, own.search->round());
    ++reports_[k].rounds;
    states_[k].is_finished = !goes_on;
    if (const auto whole = own.search->default_seconds()) {
      states_[k].first_seconds = *whole;
      states_[k].best.push_back(*own.search->best_seconds());
    } else {
      states_[k].is_finished = true;
    }
    if (options_.on_round)
      options_.on_round(reports_[k], sum(false), sum(true));
    return Done{};
  }

  /// Seconds of all uses of the tasks that were measured: of their defaults, or as fast as they are
  /// now.
  double sum(bool now) const {
    double seconds = 0;
    for (const TaskState& state : states_)
      if (!state.best.empty())
        seconds += state.uses * (now ? state.best.back() : state.first_seconds);
    return seconds;
  }

  Parsed<Done> finish(size_t k) {
    if (!running_[k].search)
      return Done{};
    const double whole = running_[k].search->default_seconds().value_or(0);
    KAWARA_TRY(reports_[k].report, running_[k].search->finish());
    const auto& best = reports_[k].report.best;
    reports_[k].default_seconds = best ? best->default_seconds : whole;
    reports_[k].seconds = best ? best->seconds : whole;
    running_[k] = {};
    return Done{};
  }

  std::vector<SharedTask> tasks_;
  const MakeMeasurer& make_;
  Database* database_;
  const TasksOptions& options_;
  double begin_;
  std::vector<Running> running_;
  std::vector<TaskState> states_;
  std::vector<TaskReport> reports_;
};

} // namespace

std::vector<SharedTask> worth_tuning(std::vector<SharedTask> tasks) {
  const auto work = [](const SharedTask& task) {
    return operations_of(task.task) * static_cast<double>(task.uses);
  };
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](const SharedTask& a, const SharedTask& b) { return work(a) > work(b); });
  double left = 0;
  for (const SharedTask& task : tasks)
    left += work(task);
  const double negligible = kNegligible * left;
  size_t count = 0;
  for (; count < tasks.size() && left > negligible; ++count)
    left -= work(tasks[count]);
  if (!tasks.empty())
    tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(count, 1)),
                tasks.end());
  return tasks;
}

Parsed<std::vector<TaskReport>> tune_tasks(std::vector<SharedTask> tasks, const MakeMeasurer& make,
                                           Database* database, const TasksOptions& options) {
  return SharedSearch(std::move(tasks), make, database, options).run();
}

} // namespace kawara::tune
