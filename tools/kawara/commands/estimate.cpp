#include "kawara/caches.h"
#include "kawara/command.h"
#include "kawara/machines.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "cache/replay.h"
#include "estimate/energy/energy.h"
#include "estimate/machines/limit.h"
#include "estimate/predict.h"
#include "kernel/memory/prepare.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

struct EstimateOptions : CommonOptions {
  bool replay = false, energy = false;
  std::string machine;
};

/// Refuses what is asked of a schedule on a machine for which nothing is scheduled (K0473).
std::optional<Diagnostic> refused_limit(const EstimateOptions& options, const Figures& figures) {
  if (!options.replay && !options.verify && !options.time_passes && options.print_after.empty() &&
      options.schedule.empty())
    return std::nullopt;
  return unfit_machine(
      options.machine,
      fmt::format("{} is no processor ({}): only the limits that hold for every order of loops are "
                  "known, and nothing is scheduled.",
                  figures.file->name, estimate::name_of(figures.file->kind)),
      "leave `--schedule`, `--replay`, `--verify`, `--time-passes` and `--print-after` away, or "
      "name a processor");
}

/// What is printed of a call's energy, for people or as the value of `energy` in JSON.
std::string energy_text(const EstimateOptions& options, const Figures& figures,
                        const estimate::Activity& activity, double operations) {
  if (const std::string missing = missing_energy(figures); !missing.empty())
    return options.json ? nlohmann::json{{"missing", missing}}.dump()
                        : fmt::format("energy: {}\n", missing);
  const estimate::Energy energy = estimate::energy_of(*figures.file->energy, activity);
  return options.json ? estimate::to_json(energy, figures.file->name)
                      : estimate::print(energy, figures.file->name, operations);
}

/// Prints what was estimated, with its energy where that is asked for.
void show_estimate(const EstimateOptions& options, const std::string& text,
                   const std::string& energy) {
  if (!options.json || !options.energy) {
    fmt::print("{}{}{}", text, options.json ? "\n" : "", options.energy ? energy : "");
    return;
  }
  auto json = nlohmann::ordered_json::parse(text);
  json["energy"] = nlohmann::ordered_json::parse(energy);
  fmt::print("{}\n", json.dump(2));
}

/// Of a machine that is no processor.
int limit_command(const EstimateOptions& options, const driver::Request& request,
                  const Figures& figures) {
  const auto program = driver::program_of(request);
  if (!program)
    return report(program.error(), options);
  const auto sizes = driver::all_sizes(*program, request);
  if (!sizes)
    return report(sizes.error(), options);
  const auto work = estimate::count(*program, *sizes);
  if (!work)
    return report({work.error()}, options);
  const estimate::Limit limit = estimate::limit_on(*figures.file, *work, figures.threads);
  const estimate::Activity activity{
      work->types, {{"memory", work->compulsory_bytes}}, limit.seconds(), 0};
  show_estimate(options,
                options.json ? estimate::to_json(limit, *work, *figures.file)
                             : estimate::print(limit, *work, *figures.file),
                energy_text(options, figures, activity, operations_of(*work)));
  return kOk;
}

struct Estimated {
  estimate::Prediction prediction;
  std::optional<estimate::Replayed> replayed;
};

Parsed<estimate::Replayed> replayed_call(const EstimateOptions& options,
                                         const driver::Scheduled& front,
                                         const schedule::Environment& environment,
                                         std::span<const int64_t> sizes, const Figures& figures,
                                         Trace& trace) {
  KAWARA_TRY(const std::vector<cache::Description> levels,
             figures.file ? caches_of_file(*figures.file, options.machine)
                          : Parsed<std::vector<cache::Description>>(
                                cache::caches_of_sizes(figures.machine)));
  Waiting waiting("simulating");
  auto made =
      cache::replay(driver::optimised_kernel_of(front, environment, trace), sizes, figures.machine,
                    levels, [&waiting](int64_t done) {
                      waiting.say(fmt::format("simulating, {} million accesses", done / 1000000));
                    });
  if (!made)
    return fail(Diagnostics{std::move(made).error()});
  return *std::move(made);
}

Parsed<Estimated> estimated(const EstimateOptions& options, const driver::Request& request,
                            const Figures& figures, Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const driver::Scheduled front, while_waiting("proving", [&] {
               return driver::schedule(request, environment, trace);
             }));
  warn(front.warnings, options);
  auto work = estimate::count(program, sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  Estimated made{estimate::predict(*work, kernel::prepare(driver::kernel_of(front, trace)), sizes,
                                   figures.machine, figures.threads),
                 std::nullopt};
  if (options.replay) {
    KAWARA_TRY(made.replayed, replayed_call(options, front, environment, sizes, figures, trace));
  }
  return made;
}

int estimate_command(const EstimateOptions& options) {
  auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  request = driver::with_default_sizes(*std::move(request));
  const auto environment = environment_of(options);
  if (!environment)
    return report(environment.error(), options);
  const auto figures = figures_of(options.machine, environment->cpu);
  if (!figures)
    return report(figures.error(), options);
  if (!figures->is_processor()) {
    const auto refused = refused_limit(options, *figures);
    return refused ? report({*refused}, options) : limit_command(options, *request, *figures);
  }
  const estimate::Machine& machine = figures->machine;
  Trace trace(trace_options(options));
  const auto made = estimated(options, *request, *figures, trace);
  show_times(trace, options);
  if (!made)
    return report(made.error(), options);
  const estimate::Prediction& prediction = made->prediction;
  estimate::Activity activity{prediction.work.types, {}, prediction.seconds, machine.vector_bytes};
  for (const estimate::LevelTraffic& level : prediction.levels)
    activity.bytes.emplace_back(level.name, level.bytes);
  const auto* replayed = made->replayed ? &*made->replayed : nullptr;
  show_estimate(options,
                options.json ? estimate::to_json(prediction, machine, replayed)
                             : estimate::print(prediction, machine) +
                                   (replayed ? estimate::print(*replayed, prediction) : ""),
                energy_text(options, *figures, activity, operations_of(prediction.work)));
  return kOk;
}

} // namespace

void add_estimate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<EstimateOptions>();
  CLI::App* command = app.add_subcommand(
      "estimate", "predict what a schedule costs: FLOPs, bytes per cache level, time");
  add_common(*command, *options, DefaultSchedule::Auto);
  command->add_flag("--replay", options->replay,
                    "also go through every load and store, and count what caches would move");
  add_machine_option(*command, options->machine);
  command->add_flag("--energy", options->energy,
                    "also what a call takes, by kind of work, with the band of published figures");
  add_examples(*command,
               {"kawara estimate examples/gemm.kw -p M=512,N=512,K=512 -s auto",
                "KAWARA_THREADS=1 kawara estimate examples/blur.kw -p H=1080,W=1920",
                "kawara estimate examples/gemm_relu.kw -p M=256,N=256,K=256 -s auto --replay",
                "kawara estimate examples/gemm.kw -p M=512,N=512,K=512 --machine neoverse-v1",
                "kawara estimate examples/gemm.kw -p M=512,N=512,K=512 --machine h200 --energy"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : estimate_command(*options);
  });
}

} // namespace kawara::tools
