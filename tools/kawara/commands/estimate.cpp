#include "kawara/command.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"

#include "driver/machine.h"
#include "estimate/predict.h"
#include "estimate/replay.h"
#include "kernel/memory/prepare.h"
#include "run/cpu/threads.h"

#include <fmt/core.h>

#include <unistd.h>

namespace kawara::tools {
namespace {

struct EstimateOptions : CommonOptions {
  bool replay = false;
};

struct Estimated {
  estimate::Prediction prediction;
  std::optional<estimate::Replayed> replayed;
};

void show_accesses(int64_t accesses) {
  if (::isatty(STDERR_FILENO) != 0)
    fmt::print(stderr, "\r{} million loads and stores ", accesses / 1000000);
}

Parsed<estimate::Replayed> replayed_call(const driver::Scheduled& front,
                                         const schedule::Environment& environment,
                                         std::span<const int64_t> sizes,
                                         const estimate::Machine& machine, Trace& trace) {
  auto made = estimate::replay(driver::optimised_kernel_of(front, environment, trace), sizes,
                               machine, show_accesses);
  if (::isatty(STDERR_FILENO) != 0)
    fmt::print(stderr, "\r\033[K");
  if (!made)
    return fail(Diagnostics{std::move(made).error()});
  return *std::move(made);
}

Parsed<Estimated> estimated(const EstimateOptions& options, const driver::Request& request,
                            const estimate::Machine& machine, Trace& trace) {
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
                                   machine, run::default_threads()),
                 std::nullopt};
  if (options.replay) {
    KAWARA_TRY(made.replayed, replayed_call(front, environment, sizes, machine, trace));
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
  const estimate::Machine machine = driver::known_machine(environment->cpu);
  Trace trace(trace_options(options));
  const auto made = estimated(options, *request, machine, trace);
  show_times(trace, options);
  if (!made)
    return report(made.error(), options);
  if (options.json) {
    fmt::print("{}\n", estimate::to_json(made->prediction, machine,
                                         made->replayed ? &*made->replayed : nullptr));
    return kOk;
  }
  fmt::print("{}", estimate::print(made->prediction, machine));
  if (made->replayed)
    fmt::print("{}", estimate::print(*made->replayed, made->prediction));
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
  add_examples(*command,
               {"kawara estimate examples/gemm.kw -p M=512,N=512,K=512 -s auto",
                "KAWARA_THREADS=1 kawara estimate examples/blur.kw -p H=1080,W=1920",
                "kawara estimate examples/gemm_relu.kw -p M=256,N=256,K=256 -s auto --replay"});
  command->callback([options, command, &exit_code] {
    const auto refused = refused_option(*command, kind_of(*options));
    exit_code = refused ? report({*refused}, *options) : estimate_command(*options);
  });
}

} // namespace kawara::tools
