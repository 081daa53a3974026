#include "kawara/arrays.h"
#include "kawara/command.h"
#include "kawara/measured_energy.h"
#include "kawara/model.h"
#include "kawara/spread.h"
#include "kawara/usable.h"
#include "kawara/waiting.h"
#include "kernel/walk.h"

#include "driver/gpu/gpu.h"
#include "driver/machine.h"
#include "driver/session.h"
#include "estimate/roofline.h"
#include "run/cpu/threads.h"
#include "run/file.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

struct Measured {
  run::Timing timing;
  std::optional<EnergyOfCalls> energy; ///< where it was asked for
  estimate::Work work;
  double compile_seconds = 0;
  std::string machine, schedule;
  run::RanOn ran_on = run::RanOn::Processor;
  int64_t threads = run::default_threads(); ///< of a processor that the code can use
  std::optional<estimate::Machine> figures; ///< of a processor
};

bool has_parallel_loop(const kernel::Kernel& kernel) {
  return kernel::has(kernel.body, [](const kernel::For& loop) { return loop.marks.is_parallel; });
}

Parsed<Measured> measure(const CommonOptions& options, const driver::Request& request,
                         program::Arrays given, bool with_energy, Trace& trace) {
  KAWARA_TRY(const program::Program program, driver::program_of(request));
  KAWARA_TRY(const std::vector<int64_t> sizes, driver::all_sizes(program, request));
  KAWARA_TRY(const schedule::Environment environment, environment_to_run_on(options));
  KAWARA_TRY(program::Arrays inputs, while_waiting("filling inputs", [&] {
               return driver::inputs_for(program, sizes, std::move(given));
             }));
  Measured measured;
  const auto time = [&](const auto& compiled) -> Parsed<run::Timing> {
    warn(compiled.front.warnings, options);
    for (const StageTime& stage : trace.times())
      measured.compile_seconds += stage.depth == 0 ? stage.seconds : 0;
    return while_waiting("measuring",
                         [&] { return driver::time_calls(compiled, sizes, inputs, {}); });
  };
  const auto energy = [&](const auto& compiled, auto counter) {
    return energy_of_calls(std::move(counter), inputs,
                           [&](const program::Arrays& arrays, const run::MeasureOptions& how) {
                             return driver::time_calls(compiled, sizes, arrays, how);
                           });
  };
  if (environment.gpu) {
    measured.machine = environment.gpu->name;
    measured.ran_on = run::RanOn::Gpu;
    KAWARA_TRY(const driver::CompiledForGpu compiled, while_waiting("compiling", [&] {
                 return driver::compile_for_gpu(request, environment, trace);
               }));
    KAWARA_TRY(measured.timing, time(compiled));
    if (with_energy) {
      KAWARA_TRY(measured.energy,
                 energy(compiled, run::gpu_counter(compiled.executable.device().pci_bus())));
    }
  } else {
    measured.figures = driver::known_machine(target::detect_cpu());
    KAWARA_TRY(const driver::Compiled compiled, while_waiting("compiling", [&] {
                 return driver::compile(request, environment, trace);
               }));
    measured.threads = has_parallel_loop(compiled.kernel) ? run::default_threads() : 1;
    measured.machine =
        std::to_string(measured.threads) + (measured.threads == 1 ? " thread" : " threads");
    KAWARA_TRY(measured.timing, time(compiled));
    if (with_energy) {
      KAWARA_TRY(measured.energy, energy(compiled, run::processor_counter()));
    }
  }
  auto work = estimate::count(program, sizes);
  if (!work)
    return fail(Diagnostics{std::move(work).error()});
  measured.work = *std::move(work);
  return measured;
}

/// Where the program is under the machine's roof; its unit says what operations were counted.
struct UnderRoof {
  estimate::Roof roof;
  estimate::RooflinePoint point;
};

std::optional<UnderRoof> under_roof(const Measured& measured, const std::string& file) {
  if (!measured.figures)
    return std::nullopt;
  return UnderRoof{
      estimate::roof_over(measured.work, *measured.figures, run::default_threads()),
      {file, operations_of(measured.work), measured.work.compulsory_bytes, measured.timing.median}};
}

nlohmann::json json_of(const Measured& measured, const std::optional<UnderRoof>& place) {
  const double seconds = measured.timing.median;
  nlohmann::json json{{"ok", true},
                      {"median_ms", seconds * 1e3},
                      {"min_ms", measured.timing.min * 1e3},
                      {"max_ms", measured.timing.max * 1e3},
                      {"spread", measured.timing.spread},
                      {"samples", measured.timing.samples.size()},
                      {"threads", measured.threads},
                      {"gflops", measured.work.flops / seconds * 1e-9},
                      {"gops", operations_of(measured.work) / seconds * 1e-9},
                      {"gbytes_per_s", measured.work.compulsory_bytes / seconds * 1e-9},
                      {"flops", measured.work.flops},
                      {"int_ops", measured.work.int_ops},
                      {"compulsory_bytes", measured.work.compulsory_bytes},
                      {"compile_ms", measured.compile_seconds * 1e3},
                      {"schedule", measured.schedule}};
  if (measured.energy)
    json["energy"] = to_json(*measured.energy, operations_of(measured.work));
  if (!place)
    return json;
  const estimate::RooflinePlace at = estimate::place(place->roof, place->point);
  json["roofline"] = {{"peak_gops", place->roof.peak_flops * 1e-9},
                      {"bandwidth_gbytes_per_s", place->roof.bandwidth_bytes * 1e-9},
                      {"attainable_gops", at.attainable * 1e-9},
                      {"share", at.share},
                      {"level", place->roof.level},
                      {"bound", at.is_memory_bound ? place->roof.level : "arithmetic"},
                      {"figures", measured.figures->is_measured ? "measured" : "described"}};
  return json;
}

std::string schedule_line(const std::string& kind) {
  if (kind == "auto")
    return "schedule: auto; `kawara show` prints it, `kawara tune` searches for a better one";
  if (kind == "source")
    return "schedule: the order of the text (-s source); without -s, auto chooses";
  return kind == "tuned" ? "schedule: tuned" : "schedule: as given by -s";
}

std::string text_of(const Measured& measured, const std::optional<UnderRoof>& place) {
  const double seconds = measured.timing.median;
  std::string speed;
  if (measured.work.flops > 0 || measured.work.int_ops == 0)
    speed += fmt::format(", {:.2f} GFLOP/s", measured.work.flops / seconds * 1e-9);
  if (measured.work.int_ops > 0)
    speed += fmt::format(", {:.2f} GOP/s of integers", measured.work.int_ops / seconds * 1e-9);
  std::string text =
      fmt::format("{}\n{}{}, {:.2f} GB/s of compulsory traffic, compiled in {:.0f} ms\n{}\n",
                  run::to_string(measured.timing), measured.machine, speed,
                  measured.work.compulsory_bytes / seconds * 1e-9, measured.compile_seconds * 1e3,
                  schedule_line(measured.schedule));
  if (measured.energy)
    text += print(*measured.energy, operations_of(measured.work));
  text += spread_note(measured.timing, measured.ran_on);
  // What was only described may be half of what the machine can do.
  if (place && measured.figures->is_measured)
    text += estimate::describe(place->roof, place->point);
  return text;
}

struct BenchOptions {
  std::string svg;
  bool energy = false;
  std::vector<std::string> inputs;
  // Of models only.
  std::vector<std::string> shapes;
  std::string against, peers;
  GraphFlags graph;
  std::vector<std::string> more_sizes;

  ModelOptions of_model(const std::string& file) const {
    ModelOptions model;
    model.file = file;
    model.given = {inputs, shapes, {}};
    model.time = true;
    model.against = against;
    model.peers = peers;
    model.more_sizes = more_sizes;
    model.graph = graph;
    return model;
  }
};

int bench(const CommonOptions& options, const BenchOptions& own, const CLI::App& command) {
  if (const auto refused = refused_option(command, kind_of(options)))
    return report({*refused}, options);
  if (const auto refused = refused_database(options))
    return report({*refused}, options);
  if (is_model(options.file))
    return run_model(own.of_model(options.file), options);
  auto request = request_of(options);
  if (!request)
    return report(request.error(), options);
  auto given = read_arrays_of(*request, own.inputs);
  if (!given)
    return report(given.error(), options);
  request = driver::with_default_sizes(*std::move(request));
  const std::string schedule = use_tuned(*request, options) ? "tuned" : schedule_kind(options);
  Trace trace(trace_options(options));
  auto measured = measure(options, *request, *std::move(given), own.energy, trace);
  show_times(trace, options);
  if (!measured)
    return report(measured.error(), options);
  measured->schedule = schedule;
  const std::optional<UnderRoof> place = under_roof(*measured, options.file);
  if (place && !own.svg.empty()) {
    const auto written =
        run::write_file(own.svg, estimate::roofline_svg(place->roof, {place->point}));
    if (!written)
      return report(Diagnostics{written.error()}, options);
  }
  fmt::print("{}",
             options.json ? json_of(*measured, place).dump(2) + "\n" : text_of(*measured, place));
  return kOk;
}

} // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "measure a program: median time, spread, operations a second, GB/s");
  add_common(*command, *options, DefaultSchedule::Auto);
  add_database(*command, *options);
  auto own = std::make_shared<BenchOptions>();
  command->add_option("--svg", own->svg, "write a program's place under the roofline to this file");
  command->add_flag("--energy", own->energy,
                    "of a program, also measure what a call takes in energy, on its inputs and on "
                    "zeros; takes half a minute");
  command->add_option("--input", own->inputs,
                      "values of an input: NAME=file.npy, .npz or .csv (without NAME= for the only "
                      "input), NAME=2.5 for one element, or a .npz file "
                      "for several; repeat");
  add_shapes(*command, own->shapes);
  CLI::Option* against =
      command->add_option("--against", own->against, "another run time for the model: ort")
          ->check(CLI::IsMember({"ort"}));
  command->add_option("--peers", own->peers, "folder with libonnxruntime.so.1")->needs(against);
  command->add_option("--also", own->more_sizes,
                      "run the model with these sizes of symbols, too: past=64; repeat");
  add_graph_flags(*command, own->graph);
  add_examples(*command, {"kawara bench examples/gemm.kw -p M=512,N=512,K=512 -s auto",
                          "KAWARA_THREADS=1 kawara bench examples/add.kw -p N=1000000 --json",
                          "kawara bench examples/gemm.kw -p M=2048,N=2048,K=2048 --energy",
                          "kawara bench model.onnx --against ort --peers build/bench/peers",
                          "kawara bench gpt2-decode.onnx -p past=16 --also past=64",
                          "kawara bench resnet50.onnx --target cuda --type bf16"});
  command->callback(
      [options, own, command, &exit_code] { exit_code = bench(*options, *own, *command); });
}

} // namespace kawara::tools
