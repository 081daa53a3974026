#include "kawara/commands/tune.h"

#include "kawara/model.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"
#include "run/cpu/threads.h"
#include "run/file.h"
#include "support/text.h"
#include "tune/database/recorded.h"
#include "tune/tuner/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace kawara::tools {
namespace {

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

Parsed<tune::TuneReport> search(const TuneSettings& options) {
  KAWARA_TRY(driver::Request open, request_of(options));
  const driver::Request request = driver::with_default_sizes(std::move(open));
  KAWARA_TRY(tune::TuneOptions tuning, tune_options(options, request));
  Waiting waiting("tuning");
  tuning.on_progress = [&](const tune::Progress& progress) {
    waiting.say(progress_text(progress));
  };
  KAWARA_TRY(const schedule::Environment environment, tune_environment(options));
  KAWARA_TRY(tune::Task task, tune::task_of(request, environment, run::default_threads()));
  KAWARA_TRY(const auto reference, tune::reference_of(std::move(task)));
  warn(reference->warnings, options);
  KAWARA_TRY(std::optional<tune::Database> database, tuning_database(options));
  const auto measurer = measurers(options, tuning)(reference);
  if (options.recorded.empty())
    return tune::tune(reference, *measurer, database ? &*database : nullptr, tuning);
  tune::Recorded recorded(*measurer, *database, tune::key_of(reference->task));
  return tune::tune(reference, recorded, nullptr, tuning);
}

int tune_program(const TuneSettings& options) {
  auto report = search(options);
  if (!report)
    return tools::report(report.error(), options);
  for (const auto& [path, text] :
       {std::pair(options.svg, tune::search_svg(*report, options.file + ": " + options.strategy)),
        std::pair(options.model, report->model)})
    if (!path.empty() && !text.empty())
      if (const auto written = run::write_file(path, text); !written)
        return tools::report({written.error()}, options);
  print_report(*report, options.json);
  return kOk;
}

/// As the searching rank, as one of those that measure, or alone.
int tune_file(TuneSettings options) {
  std::optional<tune::Crew> crew;
  if (const auto mpi = tune::started_by_mpirun()) {
    tune::use_all_processors();
    if (mpi->rank > 0) {
      const auto served = tune::serve_rank();
      return served ? kOk : report({served.error()}, options);
    }
    options.crew = &crew.emplace(mpi->ranks);
  }
  return is_model(options.file) ? tune_model(options) : tune_program(options);
}

} // namespace

tune::MakeMeasurer measurers(const TuneSettings& options, const tune::TuneOptions& tuning) {
  return [&](const std::shared_ptr<const tune::Reference>& reference)
             -> std::unique_ptr<tune::Measurer> {
    if (options.crew != nullptr)
      return std::make_unique<tune::RankMeasurer>(*options.crew, reference->task, tuning.workers,
                                                  tuning.limits);
    return std::make_unique<tune::Pool>([reference] { return tune::bench_of(reference); },
                                        tuning.workers, tuning.limits);
  };
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
  if (options.learner == "xgboost") {
    auto library = tune::XGBoost::open();
    if (!library)
      return fail(Diagnostics{std::move(library).error()});
    out.xgboost = *std::move(library);
  }
  out.seed = options.seed;
  out.workers = options.workers > 0 ? options.workers : static_cast<int>(run::default_threads());
  if (options.crew != nullptr)
    out.batch *= static_cast<size_t>(options.crew->ranks() - 1);
  out.why = options.why;
  // NVRTC takes its time.
  if (options.target.rfind("cuda", 0) == 0)
    out.limits.prepare_seconds = 30;
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
  std::signal(SIGINT, note_interrupt);
  out.should_stop = [] { return interrupted != 0; };
  return out;
}

Parsed<std::optional<tune::Database>> tuning_database(const TuneSettings& options) {
  const std::string path = options.recorded.empty() ? database_of(options) : options.recorded;
  if (path.empty())
    return std::optional<tune::Database>();
  auto opened = tune::Database::open(path);
  if (!opened)
    return fail(Diagnostics{std::move(opened).error()});
  return std::optional<tune::Database>(*std::move(opened));
}

void add_tune(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TuneSettings>();
  CLI::App* command = app.add_subcommand(
      "tune", "search a schedule that is faster than the default, and keep it for later runs");
  add_common(*command, *options, DefaultSchedule::Source);
  add_database(*command, *options);
  command->add_option("--input", options->inputs,
                      "an input of a model, for its shape: NAME=file.npy; others have a pattern");
  add_shapes(*command, options->shapes);
  add_graph_flags(*command, options->graph);
  command->add_option("--budget", options->budget, "60s, 5m, 200trials, or several by commas");
  command->add_option("--strategy", options->strategy,
                      "guided, evolution, annealing, beam, grid or random");
  command->add_option("--seed", options->seed, "another seed, another search");
  command->add_option("--workers", options->workers, "processes that compile; one per core");
  command->add_flag("--why", options->why, "measure the winner without each of its directives");
  command->add_option("--svg", options->svg, "picture of the search");
  command
      ->add_option("--learner", options->learner,
                   "who grows the model's trees: trees (Kawara's own, the default) or xgboost")
      ->check(CLI::IsMember({"trees", "xgboost"}));
  command->add_option("--model", options->model,
                      "file of what searches have learnt: used if it is there, then written");
  command->add_option(
      "--recorded", options->recorded,
      "file of measurements that searches share, to compare strategies: a candidate "
      "is measured once, nothing is kept as tuned");
  add_examples(*command, {"kawara tune examples/gemm.kw -p M=97,N=101,K=103 --budget 30s",
                          "kawara tune examples/conv2d.kw --budget 5m --why --svg search.svg",
                          "kawara tune model.onnx --budget 10m",
                          "mpirun -n 4 kawara tune examples/gemm.kw -p M=97,N=101,K=103"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : tune_file(*options);
  });
}

} // namespace kawara::tools
