#include "kawara/command.h"

#include "run/cpu/threads.h"
#include "run/file.h"
#include "support/text.h"
#include "tune/picture.h"
#include "tune/tuned.h"
#include "tune/tuner.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <unistd.h>

namespace kawara::tools {
namespace {

struct TuneSettings : CommonOptions {
  std::string budget = "60s", strategy = "guided", svg, model;
  uint64_t seed = 1;
  int workers = 0;
  bool why = false;
};

/// Set by Ctrl-C; the second one ends the program as ever.
volatile std::sig_atomic_t interrupted = 0;
extern "C" void note_interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

Diagnostic unknown_strategy(const std::string& name) {
  const std::vector<std::string> known = tune::strategy_names();
  Diagnostic d;
  d.code = "K0605";
  d.headline = "no strategy is called `" + name + "`";
  d.body.push_back("The strategies are " + join(known, ", ") + ".");
  if (const auto meant = closest(name, known))
    d.help.push_back({"did you mean", "--strategy " + *meant, false});
  return d;
}

std::string time_text(double seconds) {
  return seconds >= 1      ? fmt::format("{:.3g} s", seconds)
         : seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3)
                           : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string losses_text(const tune::Progress& progress) {
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : progress.outcomes)
    if (outcome != tune::Outcome::Measured)
      parts.push_back(fmt::format("{} {}", count, tune::name_of(outcome)));
  std::vector<std::string> codes;
  for (const auto& [code, count] : progress.refusals)
    codes.push_back(fmt::format("{} {}", count, code));
  if (progress.unfit > 0)
    parts.push_back(fmt::format("{} unfit before", progress.unfit));
  std::string text = parts.empty() ? "none lost" : join(parts, ", ");
  return codes.empty() ? text : text + " (" + join(codes, ", ") + ")";
}

void show_progress(const tune::Progress& progress) {
  const double speed = static_cast<double>(progress.trials) / std::max(progress.seconds, 1e-3);
  double left = progress.of_seconds > 0 ? progress.of_seconds - progress.seconds : 1e9;
  if (progress.of_trials > 0)
    left = std::min(left, static_cast<double>(progress.of_trials - progress.trials) / speed);
  fmt::print(stderr, "\r\033[K{} tried, {:.2f}x the default, {:.1f} a second, {:.0f} s left; {}",
             progress.trials, 1 / progress.best, speed, std::max(left, 0.0), losses_text(progress));
  std::fflush(stderr);
}

Parsed<tune::TuneOptions> tune_options(const TuneSettings& options,
                                       const driver::Request& request) {
  tune::TuneOptions out;
  auto budget = tune::budget_from_text(options.budget);
  if (!budget)
    return fail(Diagnostics{std::move(budget).error()});
  out.budget = *budget;
  const auto known = tune::strategy_names();
  if (std::find(known.begin(), known.end(), options.strategy) == known.end())
    return fail(Diagnostics{unknown_strategy(options.strategy)});
  out.strategy = options.strategy;
  out.seed = options.seed;
  out.workers = options.workers > 0 ? options.workers : static_cast<int>(run::default_threads());
  out.why = options.why;
  std::error_code ignored;
  if (!options.model.empty() && std::filesystem::exists(options.model, ignored)) {
    auto text = run::read_file(options.model);
    if (!text)
      return fail(Diagnostics{std::move(text).error()});
    out.model = *std::move(text);
  }
  if (request.directives) {
    KAWARA_TRY(out.start, schedule::parse_directives(request.directives));
  }
  out.should_stop = [] { return interrupted != 0; };
  if (!options.json && ::isatty(STDERR_FILENO) != 0)
    out.on_progress = show_progress;
  return out;
}

void print_text(const tune::TuneReport& report) {
  const tune::Progress& progress = report.progress;
  fmt::print("tried {} candidates in {:.1f} s, {:.1f} a second; {}\n", progress.trials,
             progress.seconds, static_cast<double>(progress.trials) / progress.seconds,
             losses_text(progress));
  if (progress.rank_accuracy)
    fmt::print("the model put {:.0f} of 100 pairs in the right order\n",
               *progress.rank_accuracy * 100);
  if (report.noise > 0.1)
    fmt::print("the machine was busy: times of the default differ by {:.0f} %\n",
               report.noise * 100);
  if (!report.best) {
    fmt::print("nothing is faster than the default beyond doubt: it stays\n");
    return;
  }
  fmt::print("{:.2f}x faster than the default: {} instead of {} ({:.2f}x to {:.2f}x)\n",
             1 / report.ratio.median, time_text(report.best->seconds),
             time_text(report.best->default_seconds), 1 / report.ratio.high, 1 / report.ratio.low);
  fmt::print("{}\n", report.best->directives);
  for (const tune::Effect& effect : report.effects)
    if (effect.outcome == tune::Outcome::Measured)
      fmt::print("  {:6.2f}x  slower without  {}\n", effect.slower, effect.directive);
    else
      fmt::print("  {:>7}  without  {}{}\n", tune::name_of(effect.outcome), effect.directive,
                 effect.reason.empty() ? "" : "  (" + effect.reason + ")");
}

void print_json(const tune::TuneReport& report) {
  nlohmann::json out{{"ok", true},
                     {"trials", report.progress.trials},
                     {"seconds", report.progress.seconds},
                     {"refusals", report.progress.refusals},
                     {"outcomes", nlohmann::json::object()},
                     {"unfit", report.progress.unfit},
                     {"noise", report.noise},
                     {"is_faster", report.best.has_value()}};
  for (const auto& [outcome, count] : report.progress.outcomes)
    out["outcomes"][std::string(tune::name_of(outcome))] = count;
  if (report.progress.rank_accuracy)
    out["rank_accuracy"] = *report.progress.rank_accuracy;
  if (report.best) {
    out["directives"] = report.best->directives;
    out["seconds_per_call"] = report.best->seconds;
    out["default_seconds_per_call"] = report.best->default_seconds;
    out["ratio"] = {report.ratio.low, report.ratio.median, report.ratio.high};
  }
  for (const auto& [seconds, trial] : report.curve)
    out["curve"].push_back(
        {{"seconds", seconds}, {"trial", trial + 1}, {"ratio", report.trials[trial].ratio}});
  for (const tune::Effect& effect : report.effects)
    out["effects"].push_back({{"directive", effect.directive},
                              {"outcome", tune::name_of(effect.outcome)},
                              {"reason", effect.reason},
                              {"slower", effect.slower}});
  fmt::print("{}\n", out.dump(2));
}

Parsed<tune::TuneReport> search(const TuneSettings& options) {
  KAWARA_TRY(const driver::Request request, request_of(options));
  KAWARA_TRY(const tune::TuneOptions tuning, tune_options(options, request));
  KAWARA_TRY(tune::Task task,
             tune::task_of(request, driver::host_environment(), run::default_threads()));
  KAWARA_TRY(const auto reference, tune::reference_of(std::move(task)));
  warn(reference->warnings, options);
  std::optional<tune::Database> database;
  if (const std::string path = database_of(options); !path.empty()) {
    auto opened = tune::Database::open(path);
    if (!opened)
      return fail(Diagnostics{std::move(opened).error()});
    database.emplace(*std::move(opened));
  }
  std::signal(SIGINT, note_interrupt);
  return tune::tune(
      reference, [reference] { return tune::bench_of(reference); }, database ? &*database : nullptr,
      tuning);
}

int tune_program(const TuneSettings& options) {
  auto report = search(options);
  if (!options.json && ::isatty(STDERR_FILENO) != 0)
    fmt::print(stderr, "\r\033[K");
  if (!report)
    return tools::report(report.error(), options);
  for (const auto& [path, text] :
       {std::pair(options.svg, tune::search_svg(*report, options.file + ": " + options.strategy)),
        std::pair(options.model, report->model)})
    if (!path.empty() && !text.empty())
      if (const auto written = run::write_file(path, text); !written)
        return tools::report({written.error()}, options);
  if (options.json)
    print_json(*report);
  else
    print_text(*report);
  return kOk;
}

} // namespace

void add_tune(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TuneSettings>();
  CLI::App* command = app.add_subcommand(
      "tune", "search a schedule that is faster than the default, and keep it for later runs");
  add_common(*command, *options);
  add_database(*command, *options);
  command->add_option("--budget", options->budget, "60s, 5m, 200trials, or several by commas");
  command->add_option("--strategy", options->strategy,
                      "guided, evolution, annealing, beam, grid or random");
  command->add_option("--seed", options->seed, "another seed, another search");
  command->add_option("--workers", options->workers, "processes that compile; one per core");
  command->add_flag("--why", options->why, "measure the winner without each of its directives");
  command->add_option("--svg", options->svg, "picture of the search");
  command->add_option("--model", options->model,
                      "file of what searches have learnt: used if it is there, then written");
  add_examples(*command, {"kawara tune examples/gemm.kw -p M=97,N=101,K=103 --budget 30s",
                          "kawara tune examples/conv2d.kw --budget 5m --why --svg search.svg"});
  command->callback([options, &exit_code] { exit_code = tune_program(*options); });
}

} // namespace kawara::tools
