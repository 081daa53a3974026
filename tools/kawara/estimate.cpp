#include "kawara/command.h"

#include "driver/machine.h"
#include "estimate/predict.h"
#include "run/cpu/threads.h"

#include <fmt/core.h>

namespace kawara::tools {
namespace {

Parsed<estimate::Prediction> prediction(const CommonOptions& options,
                                        const driver::Request& request,
                                        const estimate::Machine& machine, Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const schedule::Environment environment, environment_of(options));
  KAWARA_TRY(const driver::Scheduled front, driver::schedule(request, environment, trace));
  warn(front.warnings, options);
  auto work = estimate::count(program, sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  return estimate::predict(*work, driver::kernel_of(front, trace), sizes, machine,
                           run::default_threads());
}

int estimate_command(const CommonOptions& options) {
  auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  const estimate::Machine machine = driver::known_machine(target::detect_cpu());
  Trace trace(trace_options(options));
  const auto made = prediction(options, *request, machine, trace);
  show_times(trace, options);
  if (!made)
    return report(made.error(), options);
  if (options.json)
    fmt::print("{}\n", estimate::to_json(*made, machine));
  else
    fmt::print("{}", estimate::print(*made, machine));
  return kOk;
}

} // namespace

void add_estimate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "estimate", "predict what a schedule costs: FLOPs, bytes per cache level, time");
  add_common(*command, *options);
  add_examples(*command, {"kawara estimate examples/gemm.kw -p M=512,N=512,K=512 -s auto",
                          "KAWARA_THREADS=1 kawara estimate examples/blur.kw -p H=1080,W=1920"});
  command->callback([options, &exit_code] { exit_code = estimate_command(*options); });
}

} // namespace kawara::tools
