#include "kawara/commands/tune.h"
#include "kawara/model.h"
#include "kawara/waiting.h"

#include "run/cpu/threads.h"
#include "tune/measure/subprocess.h"
#include "tune/tuner/tasks.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

/// The programs of a model. Running it starts threads, so another process does it.
Parsed<std::vector<tune::SharedTask>> tasks_of(const TuneSettings& options,
                                               const schedule::Environment& environment) {
  KAWARA_TRY(const auto symbols, sizes_of(options));
  const auto code = code_options_of(options);
  if (!code)
    return fail(Diagnostics{code.error()});
  KAWARA_TRY(const std::string text, tune::run_in_subprocess([&]() -> Parsed<std::string> {
               const auto make = environment.gpu ? gpu_programs_of_model : programs_of_model;
               auto programs = make(options.file, {options.inputs, options.shapes, symbols},
                                    options.graph, *code);
               if (!programs)
                 return fail(Diagnostics{std::move(programs).error()});
               return nlohmann::json(*programs).dump();
             }));
  std::vector<tune::SharedTask> tasks;
  const auto programs = nlohmann::json::parse(text).get<std::map<std::string, int64_t>>();
  for (const auto& [program, uses] : programs) {
    driver::Request request;
    request.text = make_source("operator.kw", program);
    request.numerics = code->numerics;
    KAWARA_TRY(tune::Task task,
               tune::task_of(std::move(request), environment, run::default_threads()));
    const std::string name = tune::id_of(tune::key_of(task)).substr(0, 8);
    tasks.push_back({name, std::move(task), uses});
  }
  return tasks;
}

struct Found {
  size_t programs = 0; ///< of the model, before those with little work were left out
  std::vector<tune::TaskReport> tasks;
};

Parsed<Found> search_all(const TuneSettings& options) {
  KAWARA_TRY(const schedule::Environment environment, tune_environment(options));
  tune::TasksOptions tuning;
  Waiting waiting("tuning");
  KAWARA_TRY(tuning.each, tune_options(options, {}));
  KAWARA_TRY(std::vector<tune::SharedTask> tasks, tasks_of(options, environment));
  Found found{tasks.size(), {}};
  tasks = tune::worth_tuning(std::move(tasks));
  KAWARA_TRY(std::optional<tune::Database> database, tuning_database(options));
  tuning.on_round = [&](const tune::TaskReport& task, double before, double now) {
    waiting.say(fmt::format("{}, round {}: {} instead of {} for what was tried so far", task.name,
                            task.rounds, time_text(now), time_text(before)));
  };
  KAWARA_TRY(found.tasks, tune::tune_tasks(std::move(tasks), measurers(options, tuning.each),
                                           database ? &*database : nullptr, tuning));
  return found;
}

void print_table(const Found& found) {
  fmt::print("{} programs, {} with more than a hundredth of the work\n", found.programs,
             found.tasks.size());
  fmt::print("{:8}  {:>5}  {:>6}  {:>9}  {:>9}  {:>7}\n", "id", "uses", "trials", "default",
             "tuned", "faster");
  double before = 0, after = 0;
  size_t waiting = 0; // the budget ended before their turn
  for (const tune::TaskReport& task : found.tasks) {
    if (!task.errors.empty()) {
      fmt::print("{:8}  {:>5}  {}\n", task.name, task.uses, task.errors.front().headline);
      continue;
    }
    if (task.default_seconds <= 0) {
      ++waiting;
      continue;
    }
    fmt::print(
        "{:8}  {:>5}  {:>6}  {:>9}  {:>9}  {:>7}\n", task.name, task.uses,
        task.report.progress.trials, time_text(task.default_seconds), time_text(task.seconds),
        task.report.best ? fmt::format("{:.2f}x", task.default_seconds / task.seconds) : "stays");
    before += static_cast<double>(task.uses) * task.default_seconds;
    after += static_cast<double>(task.uses) * task.seconds;
  }
  if (waiting > 0)
    fmt::print("{} not measured before the budget ended: the default stays\n",
               waiting == 1 ? "1 program was" : fmt::format("{} programs were", waiting));
  if (after > 0)
    fmt::print("all of them: {} instead of {}, {:.2f}x faster\n", time_text(after),
               time_text(before), before / after);
}

nlohmann::json json_of(const Found& found) {
  nlohmann::json list = nlohmann::json::array();
  for (const tune::TaskReport& task : found.tasks) {
    nlohmann::json one{{"id", task.name},
                       {"uses", task.uses},
                       {"rounds", task.rounds},
                       {"trials", task.report.progress.trials},
                       {"is_faster", task.report.best.has_value()},
                       {"default_seconds_per_call", task.default_seconds},
                       {"seconds_per_call", task.seconds}};
    if (task.report.best)
      one["directives"] = task.report.best->directives;
    if (!task.errors.empty())
      one["error"] = task.errors.front().headline;
    list.push_back(std::move(one));
  }
  return {{"ok", true}, {"programs", found.programs}, {"tasks", std::move(list)}};
}

} // namespace

int tune_model(const TuneSettings& options) {
  const auto found = search_all(options);
  if (!found)
    return report(found.error(), options);
  if (options.json)
    fmt::print("{}\n", json_of(*found).dump(2));
  else
    print_table(*found);
  return kOk;
}

} // namespace kawara::tools
