#include "kawara/explained.h"

#include "kawara/caches.h"
#include "kawara/explained_way.h"
#include "kawara/waiting.h"

#include "cache/from_kernel.h"
#include "cache/replay.h"
#include "cache/report.h"
#include "estimate/machines/limit.h"
#include "estimate/roofline.h"
#include "explain/what_if.h"
#include "kernel/memory/prepare.h"
#include "poly/legality/shown_dependences.h"
#include "schedule/text/draw.h"
#include "support/text.h"

#include <fmt/format.h>

#include <filesystem>

namespace kawara::tools {
namespace {

/// Vector loads and stores that are simulated unasked: those of packed products, which miss the L1
/// often, take about a second for forty million.
constexpr double kMostAccesses = 1e8, kAccessesPerSecond = 4e7;

/// What a report is made of.
struct Asked {
  const ExplainOptions& options;
  driver::Request request;
  program::Program program;
  std::vector<int64_t> sizes;
  schedule::Environment environment;
  Figures figures;
};

std::string title_of(const ExplainOptions& options, const Asked& asked) {
  std::string title = std::filesystem::path(options.file).filename().string();
  for (size_t k = 0; k < asked.sizes.size(); ++k)
    title += fmt::format("{}{}={}", k == 0 ? " at " : ", ", asked.program.params[k].name,
                         asked.sizes[k]);
  return printable(title);
}

Parsed<Asked> asked_of(const ExplainOptions& options) {
  KAWARA_TRY(driver::Request request, request_of(options));
  request = driver::with_default_sizes(std::move(request));
  KAWARA_TRY(program::Program program, driver::program_of(request));
  KAWARA_TRY(std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(schedule::Environment environment, environment_of(options));
  KAWARA_TRY(Figures figures, figures_of(options.machine, environment.cpu));
  return Asked{options,          std::move(request),     std::move(program),
               std::move(sizes), std::move(environment), std::move(figures)};
}

/// Of AMX: eight tiles of 16 rows of 64 bytes.
constexpr int64_t kTileBytes = 8 * 16 * 64;

/// What a level's bytes come into, and all that is nearer: registers and the caches before it.
double nearer_bytes(const Asked& asked, size_t level) {
  const estimate::Machine& machine = asked.figures.machine;
  const bool has_tiles = asked.environment.cpu.features.has(target::Feature::AmxBf16) ||
                         asked.environment.cpu.features.has(target::Feature::AmxInt8);
  auto bytes = static_cast<double>(machine.register_bytes + (has_tiles ? kTileBytes : 0));
  for (size_t k = 0; k < level; ++k)
    bytes += static_cast<double>(machine.levels[k].bytes);
  return bytes;
}

void add_least(const Asked& asked, const driver::Scheduled& front, const estimate::Work& work,
               explain::Report& report) {
  // A program that was rewritten into another computation has other iterations.
  const auto rewritten = estimate::count(front.rewritten, asked.sizes);
  const bool is_other =
      rewritten && estimate::operations_of(*rewritten) < estimate::operations_of(work);
  for (size_t k = 0; k < report.levels.size(); ++k) {
    const estimate::LeastTraffic least =
        estimate::least_traffic(is_other ? front.rewritten : asked.program, asked.sizes,
                                is_other ? *rewritten : work, {.bytes = nearer_bytes(asked, k)});
    report.levels[k].least = least.bytes;
    report.bound_by = least.decided_by;
  }
}

void add_simulated(const Asked& asked, const driver::Scheduled& front, Trace& trace,
                   explain::Report& report) {
  const auto missing = [&](const std::string& why) {
    report.missing.push_back("simulated caches: " + why);
  };
  const estimate::Prediction& p = report.prediction;
  // A load for each vector of results or of what the L1 gives, whichever is more.
  const auto vector = static_cast<double>(asked.figures.machine.vector_bytes);
  const double accesses =
      std::max(p.levels.front().bytes / vector, estimate::operations_of(p.work) / 2 / (vector / 4));
  if (accesses > kMostAccesses && !asked.options.replay)
    return missing(fmt::format("about {:.0f} million accesses, some {:.0f} s; `--replay` does it",
                               accesses * 1e-6, accesses / kAccessesPerSecond));
  const Parsed<std::vector<cache::Description>> levels =
      asked.figures.file ? caches_of_file(*asked.figures.file, asked.options.machine)
                         : cache::caches_of_sizes(asked.figures.machine);
  if (!levels)
    return missing(levels.error().front().headline);
  const auto program = cache::accesses_of_kernel(
      driver::optimised_kernel_of(front, asked.environment, trace), asked.sizes);
  if (!program)
    return missing(program.error().headline);
  Waiting waiting("simulating");
  const cache::Simulated simulated =
      cache::simulate(*program, *levels, false, [&waiting](int64_t done) {
        waiting.say(fmt::format("simulating, {} million accesses", done / 1000000));
      });
  report.simulated_label = cache::label_of(*program);
  for (size_t k = 0; k < simulated.counts.size() && k + 1 < report.levels.size(); ++k) {
    double misses = 0;
    for (const cache::Count& each : simulated.counts[k].of)
      misses += static_cast<double>(each.misses());
    report.levels[k + 1].simulated = misses * static_cast<double>(simulated.levels[k].line_bytes);
  }
}

void add_why(const Asked& asked, const std::vector<schedule::Attempt>& attempts,
             const driver::Scheduled& front, explain::Report& report) {
  const auto steps = driver::spelled_out(front, asked.request, asked.environment);
  if (!steps) {
    report.missing.push_back("why this schedule: " + steps.error().front().headline);
    return;
  }
  for (const schedule::Directive& each : *steps)
    report.directives.push_back(schedule::print(each));
  report.nests = while_waiting("pricing", [&] {
    return explain::considered(
        attempts, *steps, asked.environment,
        explain::Prices{asked.figures.machine, asked.sizes, asked.figures.threads});
  });
}

void add_energy(const Asked& asked, explain::Report& report) {
  if (std::string missing = missing_energy(asked.figures); !missing.empty()) {
    report.missing.push_back("energy: " + missing);
    return;
  }
  const estimate::Prediction& p = report.prediction;
  const int64_t vector_bytes =
      asked.figures.is_processor() ? asked.figures.machine.vector_bytes : 0;
  estimate::Activity activity{p.work.types, {}, p.seconds, vector_bytes};
  for (const estimate::LevelTraffic& level : p.levels)
    activity.bytes.emplace_back(level.name, level.bytes);
  report.energy = estimate::energy_of(*asked.figures.file->energy, activity);
  for (const std::string& each : report.energy->missing)
    report.missing.push_back(fmt::format("energy of {}: the file has no figure", each));
}

/// The program small enough to be watched; `asked` are the directives with each `auto` spelled out.
void add_theatre(const Asked& asked, const std::vector<schedule::Directive>& directives,
                 explain::Report& report) {
  const auto missing = [&](const std::string& why) { report.missing.push_back("theatre: " + why); };
  const auto caches = asked.figures.file
                          ? caches_of_file(*asked.figures.file, asked.options.machine)
                          : caches_of_sizes(asked.figures.machine, cache::Policy::Lru);
  if (!caches)
    return missing(caches.error().front().headline);
  driver::Request any_sizes = asked.request;
  any_sizes.sizes.clear();
  const auto program = driver::program_of(any_sizes);
  if (!program)
    return missing(program.error().front().headline);
  auto made = explain::theatre({*program, asked.sizes, directives, *caches,
                                asked.figures.file ? asked.figures.file->energy : std::nullopt,
                                asked.environment});
  if (!made)
    return missing(made.error());
  report.theatre = *std::move(made);
}

void add_levels(explain::Report& report) {
  for (const estimate::LevelTraffic& level : report.prediction.levels)
    report.levels.push_back({level.name, level.bytes, level.seconds, {}, {}});
}

/// Of a machine for which nothing is scheduled.
explain::Report limit_report(const Asked& asked, const estimate::Work& work,
                             explain::Report report) {
  const estimate::MachineFile& file = *asked.figures.file;
  const estimate::Limit limit = estimate::limit_on(file, work, asked.figures.threads);
  report.is_limit = true;
  report.machine_file = machine_json(asked.figures, asked.options.machine);
  report.work = explain::work_json(work, file);
  report.roof_seconds = limit.seconds();
  estimate::Prediction& p = report.prediction;
  p.work = work;
  p.threads = asked.figures.threads;
  p.levels = {{"memory", work.compulsory_bytes, limit.memory_seconds}};
  p.arithmetic_seconds = limit.arithmetic_seconds;
  p.seconds = limit.seconds();
  p.bound = limit.is_memory_bound() ? "memory" : "arithmetic";
  report.peak = operations_of(work) / std::max(limit.arithmetic_seconds, 1e-30);
  add_levels(report);
  report.levels.back().bandwidth = file.memory.bandwidth.all_cores;
  add_energy(asked, report);
  report.missing.push_back(fmt::format(
      "a schedule: {} is no processor ({}), and only what holds for every order of loops is told",
      file.name, estimate::name_of(file.kind)));
  return report;
}

} // namespace

Parsed<explain::Report> explained_program(const ExplainOptions& options, Trace& trace) {
  KAWARA_TRY(Asked asked, asked_of(options));
  auto work = estimate::count(asked.program, asked.sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  explain::Report report;
  report.title = title_of(options, asked);
  report.machine = asked.figures.name();
  report.figures = asked.figures.origin();
  report.duplicates = estimate::duplicates(asked.program, asked.sizes);
  add_dependences(asked.program, report);
  if (!asked.figures.is_processor())
    return limit_report(asked, *work, std::move(report));
  std::vector<schedule::Attempt> attempts;
  schedule::Environment noting = asked.environment;
  noting.notes = &attempts;
  KAWARA_TRY(const driver::Scheduled front, while_waiting("proving", [&] {
               return driver::schedule(asked.request, noting, trace);
             }));
  warn(front.warnings, options);
  const kernel::Kernel kernel = kernel::prepare(driver::kernel_of(front, trace));
  report.prediction =
      estimate::predict(*work, kernel, asked.sizes, asked.figures.machine, asked.figures.threads);
  report.machine_file = machine_json(asked.figures, asked.options.machine);
  report.work =
      explain::work_json(*work, kernel, asked.sizes, asked.figures.machine, most_threads());
  const estimate::Roof roof =
      estimate::roof_over(*work, asked.figures.machine, asked.figures.threads);
  report.roof_seconds = std::max(estimate::operations_of(*work) / roof.peak_flops,
                                 work->compulsory_bytes / roof.bandwidth_bytes);
  report.peak = roof.peak_flops;
  add_levels(report);
  for (size_t k = 0; k < report.levels.size(); ++k)
    report.levels[k].bandwidth = estimate::rate_with(asked.figures.machine.levels[k].triad,
                                                     static_cast<double>(asked.figures.threads));
  add_least(asked, front, *work, report);
  add_simulated(asked, front, trace, report);
  add_energy(asked, report);
  add_why(asked, attempts, front, report);
  if (options.json || options.shows_page()) {
    const auto steps = driver::spelled_out(front, asked.request, asked.environment);
    while_waiting("trying orders", [&] {
      add_theatre(asked, steps ? *steps : std::vector<schedule::Directive>{}, report);
    });
  }
  report.tree = schedule::draw_text(front.schedule.scop, front.schedule.order);
  report.way = while_waiting("pricing steps", [&] {
    return way_of(front, report.directives, {asked.environment, asked.figures, asked.sizes});
  });
  return report;
}

} // namespace kawara::tools
