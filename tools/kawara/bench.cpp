#include "kawara/command.h"
#include "kawara/model.h"

#include "driver/gpu.h"
#include "driver/session.h"
#include "estimate/count.h"
#include "run/cpu/threads.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

struct Measured {
  run::Timing timing;
  estimate::Work work;
  double compile_seconds = 0;
  std::string machine;
};

Parsed<Measured> measure(const CommonOptions& options, const driver::Request& request,
                         Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const schedule::Environment environment, environment_to_run_on(options));
  KAWARA_TRY(program::Arrays inputs, driver::inputs_for(program, sizes, {}));
  Measured measured;
  const auto time = [&](const auto& compiled) -> Parsed<run::Timing> {
    warn(compiled.front.warnings, options);
    for (const StageTime& stage : trace.times())
      measured.compile_seconds += stage.depth == 0 ? stage.seconds : 0;
    return driver::time_calls(compiled, sizes, inputs, {});
  };
  if (environment.gpu) {
    measured.machine = environment.gpu->name;
    KAWARA_TRY(const driver::CompiledForGpu compiled,
               driver::compile_for_gpu(request, environment, trace));
    KAWARA_TRY(measured.timing, time(compiled));
  } else {
    const int64_t threads = run::default_threads();
    measured.machine = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    KAWARA_TRY(const driver::Compiled compiled, driver::compile(request, environment, trace));
    KAWARA_TRY(measured.timing, time(compiled));
  }
  auto work = estimate::count(program, sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  measured.work = *std::move(work);
  return measured;
}

/// Of models only.
struct BenchOptions {
  std::vector<std::string> inputs;
  std::string against, peers;
  GraphFlags graph;
  std::vector<std::string> more_sizes;
};

int bench(const CommonOptions& options, const BenchOptions& of_model) {
  if (is_model(options.file))
    return run_model({options.file,
                      of_model.inputs,
                      "",
                      true,
                      options.json,
                      options.verify,
                      of_model.against,
                      of_model.peers,
                      {},
                      of_model.more_sizes,
                      false,
                      of_model.graph},
                     options);
  auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  use_tuned(*request, options);
  Trace trace(trace_options(options));
  const auto measured = measure(options, *request, trace);
  show_times(trace, options);
  if (!measured)
    return report(measured.error(), options);
  const double seconds = measured->timing.median;
  const double gflops = measured->work.flops / seconds * 1e-9;
  const double gbytes = measured->work.compulsory_bytes / seconds * 1e-9;
  const int64_t threads = run::default_threads();
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", true},
                                      {"median_ms", seconds * 1e3},
                                      {"min_ms", measured->timing.min * 1e3},
                                      {"max_ms", measured->timing.max * 1e3},
                                      {"spread", measured->timing.spread},
                                      {"samples", measured->timing.samples.size()},
                                      {"threads", threads},
                                      {"gflops", gflops},
                                      {"gbytes_per_s", gbytes},
                                      {"flops", measured->work.flops},
                                      {"compulsory_bytes", measured->work.compulsory_bytes},
                                      {"compile_ms", measured->compile_seconds * 1e3}}
                           .dump(2));
  else
    fmt::print("{}\n{}, {:.2f} GFLOP/s, {:.2f} GB/s of compulsory traffic, compiled in {:.0f} ms\n",
               run::to_string(measured->timing), measured->machine, gflops, gbytes,
               measured->compile_seconds * 1e3);
  return kOk;
}

} // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "measure a program: median time, spread, GFLOP/s, GB/s");
  add_common(*command, *options);
  add_database(*command, *options);
  auto of_model = std::make_shared<BenchOptions>();
  command->add_option("--input", of_model->inputs, "input of a model: NAME=file.npy; repeat");
  command->add_option("--against", of_model->against, "another run time for the model: ort")
      ->check(CLI::IsMember({"ort"}));
  command->add_option("--peers", of_model->peers, "folder with libonnxruntime.so.1");
  command->add_option("--also", of_model->more_sizes,
                      "run the model with these sizes of symbols, too: past=64; repeat");
  add_graph_flags(*command, of_model->graph);
  add_examples(*command, {"kawara bench examples/gemm.kw -p M=512,N=512,K=512 -s auto",
                          "KAWARA_THREADS=1 kawara bench examples/add.kw -p N=1000000 --json",
                          "kawara bench model.onnx --against ort --peers build/bench/peers",
                          "kawara bench gpt2-decode.onnx -p past=16 --also past=64",
                          "kawara bench resnet50.onnx --target cuda --type bf16"});
  command->callback([options, of_model, &exit_code] { exit_code = bench(*options, *of_model); });
}

} // namespace kawara::tools
