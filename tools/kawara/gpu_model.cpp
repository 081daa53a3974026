#include "kawara/commands/show_gpu.h"
#include "kawara/model.h"
#include "kawara/spread.h"

#include "driver/check/check_gpu_model.h"
#include "driver/gpu/gpu.h"
#include "driver/gpu/gpu_model.h"
#include "driver/target_choice.h"
#include "support/text.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace kawara::tools {
namespace {

using run::Datum;
using run::Tensor;

double seconds_from(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

driver::GpuProgramOptions usual_gpu_options() {
  driver::GpuProgramOptions options;
  options.cache = driver::cuda_cache();
  options.progress = usual_model_options().progress;
  return options;
}

/// Inputs in the order of the tape.
std::vector<Datum> in_order(const driver::Tape& tape, const std::map<std::string, Datum>& inputs) {
  std::vector<Datum> data;
  for (const driver::Port& port : tape.inputs)
    data.push_back(inputs.at(port.name));
  return data;
}

void add_gpu_steps(std::vector<driver::GpuStepTime> steps, nlohmann::json& json,
                   std::string& text) {
  struct Sum {
    double seconds = 0;
    int64_t times = 0;
    bool is_on_host = false;
  };
  std::map<std::string, Sum> sums;
  double whole = 0;
  for (const driver::GpuStepTime& step : steps) {
    Sum& sum = sums[step.name];
    sum.seconds += step.seconds;
    ++sum.times;
    sum.is_on_host = step.is_on_host;
    whole += step.seconds;
    json["steps"].push_back(
        {{"name", step.name}, {"us", step.seconds * 1e6}, {"on_host", step.is_on_host}});
  }
  std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  text += fmt::format("{:>6} {:>9} {:>6}  step, each alone\n", "share", "us", "times");
  for (const auto& [name, sum] : order)
    text += fmt::format("{:>5.1f}% {:>9.1f} {:>6}  {}{}\n", sum.seconds / whole * 100,
                        sum.seconds * 1e6, sum.times, name, sum.is_on_host ? " (host)" : "");
}

driver::ModelOptions gpu_model_options_of(const GraphFlags& flags) {
  return driver::options_for_gpu(model_options_of(flags));
}

/// The model on the device, and what making it took.
struct Made {
  driver::GpuModel model;
  std::map<std::string, Datum> inputs;
  double load_seconds = 0, compile_seconds = 0, start_seconds = 0;
  int64_t kernels = 0, from_cache = 0, plain = 0;
};

/// Compares results with what the processor makes of the same inputs.
Result<driver::GpuCheck, Diagnostic> checked_on_processor(const ModelOptions& options,
                                                          const Made& made,
                                                          const std::vector<Datum>& results) {
  std::vector<std::string> names;
  for (const driver::Port& port : made.model.tape().outputs)
    names.push_back(port.name);
  const auto run = [&](const std::map<std::string, Datum>& inputs,
                       graph::DataType floats) -> Result<std::vector<Datum>, Diagnostic> {
    driver::ModelOptions of_processor = usual_model_options();
    of_processor.floats = floats;
    KAWARA_TRY(driver::Model model, driver::load_model_to_run(options.file, of_processor));
    return model.run(inputs);
  };
  return driver::check_gpu_model(names, made.inputs, results,
                                 model_options_of(options.graph).floats, run);
}

Result<Made, Diagnostic> made(const ModelOptions& options, const CommonOptions& common) {
  KAWARA_TRY(auto device, run::CudaDevice::open());
  auto environment = driver::environment_for(common.target);
  if (!environment)
    return fail(environment.error().front());
  environment->gpu = device->gpu();
  auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(driver::Model model,
             driver::load_model(options.file, gpu_model_options_of(options.graph)));
  KAWARA_TRY(auto inputs, read_model_inputs(model, options.given));
  KAWARA_TRY(driver::Tape tape, driver::gpu_tape_of(model, inputs));
  const double load_seconds = seconds_from(begin);
  begin = std::chrono::steady_clock::now();
  driver::GpuProgramOptions how = usual_gpu_options();
  how.verify = common.verify;
  how.known = tuned_schedules(common, *environment);
  KAWARA_TRY(const driver::GpuPrograms programs, driver::gpu_programs_of(tape, *environment, how));
  show_notes(driver::proof_notes(tape, programs));
  const double compile_seconds = seconds_from(begin);
  begin = std::chrono::steady_clock::now();
  KAWARA_TRY(driver::GpuModel on_device,
             driver::GpuModel::make(std::move(tape), programs, std::move(device)));
  Made out{std::move(on_device), std::move(inputs), load_seconds, compile_seconds,
           seconds_from(begin)};
  for (const auto& [text, program] : programs) {
    ++out.kernels;
    out.from_cache += program->cubin.is_from_cache ? 1 : 0;
    out.plain += program->is_scheduled ? 0 : 1;
  }
  return out;
}

std::string calls_note(int64_t calls) {
  return calls == 0
             ? ""
             : fmt::format("; {} {} on the host", calls, calls == 1 ? "step runs" : "steps run");
}

/// Time of a call, and of its parts, if asked for; a comparison, if asked for.
Result<std::pair<std::string, std::string>, Diagnostic>
measured(Made& made, const ModelOptions& options, const std::vector<Datum>& results) {
  nlohmann::json json;
  std::string text;
  driver::GpuModel& model = made.model;
  json["launches"] = model.launches();
  json["host_calls"] = model.host_calls();
  json["plain_kernels"] = made.plain;
  json["from_cache"] = made.from_cache;
  json["weight_bytes"] = model.weight_bytes();
  json["load_ms"] = made.load_seconds * 1e3;
  json["start_ms"] = made.start_seconds * 1e3;
  text += fmt::format("{} launches of {} programs{}; {:.1f} MB of weights and {:.1f} MB besides on "
                      "the device\n",
                      model.launches(), made.kernels, calls_note(model.host_calls()),
                      static_cast<double>(model.weight_bytes()) * 1e-6,
                      static_cast<double>(model.work_bytes()) * 1e-6);
  text += fmt::format("planned in {:.0f} ms, compiled in {:.0f} ms ({} from the cache), on the "
                      "device after {:.0f} ms more\n",
                      made.load_seconds * 1e3, made.compile_seconds * 1e3, made.from_cache,
                      made.start_seconds * 1e3);
  if (options.check) {
    KAWARA_TRY(const driver::GpuCheck check, checked_on_processor(options, made, results));
    json["check"]["allowed"] = check.allowed.floats;
    for (const driver::OutputAgreement& each : check.outputs) {
      text += "check: " + driver::text_of(each) + "\n";
      json["check"]["outputs"].push_back({{"name", each.name},
                                          {"worst", each.worst},
                                          {"norm", each.norm},
                                          {"differing", each.differing}});
    }
    text += fmt::format("check: as the processor says; allowed {:.1e} of the largest element\n",
                        check.allowed.floats);
  }
  if (options.time) {
    KAWARA_TRY(const run::Timing timing, model.time({}));
    json["device_ms"] = timing.median * 1e3;
    text +=
        "on the device: " + run::to_string(timing) + "\n" + spread_note(timing, run::RanOn::Gpu);
    KAWARA_TRY(auto steps, model.profile(20));
    add_gpu_steps(std::move(steps), json, text);
  }
  return std::pair{text, json.dump()};
}

} // namespace

void add_graph_flags(CLI::App& command, GraphFlags& flags) {
  command
      .add_option("--type", flags.floats,
                  "of a model: bf16 or f16 for all its f32 values but inputs and outputs")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      .add_option(
          "--attention", flags.attention,
          "of a model: parts, or whole: attention that is written out as one node; cost (the "
          "default) decides")
      ->check(CLI::IsMember({"cost", "parts", "whole"}));
  command
      .add_option(
          "--layout", flags.layout,
          "of a model: written, the order of dimensions that the file has; cost (the default) "
          "changes it where that pays")
      ->check(CLI::IsMember({"cost", "written"}));
}

driver::ModelOptions model_options_of(const GraphFlags& flags) {
  driver::ModelOptions options = usual_model_options();
  if (flags.floats == "bf16")
    options.floats = graph::DataType::BF16;
  if (flags.floats == "f16")
    options.floats = graph::DataType::F16;
  options.graph.chooses_layouts = flags.layout != "written";
  if (flags.attention == "parts")
    options.graph.attention = graph::optimise::AttentionUse::Never;
  if (flags.attention == "whole")
    options.graph.attention = graph::optimise::AttentionUse::Always;
  return options;
}

bool is_for_gpu(const std::string& target) { return target.starts_with("cuda"); }

Result<Done, Diagnostic> run_on_gpu(const ModelOptions& options, const CommonOptions& common) {
  const auto begin = std::chrono::steady_clock::now();
  KAWARA_TRY(Made made, tools::made(options, common));
  const std::vector<Datum> data = in_order(made.model.tape(), made.inputs);
  ModelRun run;
  KAWARA_TRY(run.results, made.model.run(data, common.verify));
  run.first_seconds = seconds_from(begin);
  run.compile_seconds = made.compile_seconds;
  run.kernels = made.kernels;
  run.from_cache = made.from_cache;
  run.block_bytes = made.model.work_bytes();
  for (const driver::Port& port : made.model.tape().outputs)
    run.names.push_back(port.name);
  run.measure_more = [&] { return measured(made, options, run.results); };
  run.always_more = true;
  run.run_again = [&] { return static_cast<bool>(made.model.run(data)); };
  return show_run(options, run);
}

Result<std::map<std::string, int64_t>, Diagnostic>
gpu_programs_of_model(const std::string& path, const GivenInputs& given, const GraphFlags& flags,
                      const driver::CodeOptions&) {
  KAWARA_TRY(driver::Model model, driver::load_model(path, gpu_model_options_of(flags)));
  KAWARA_TRY(const auto inputs, read_model_inputs(model, given));
  KAWARA_TRY(const driver::Tape tape, driver::gpu_tape_of(model, inputs));
  return driver::gpu_texts_of(tape, usual_gpu_options());
}

Result<std::string, Diagnostic> gpu_text_of_model(const CommonOptions& common,
                                                  const std::string& stage, const GraphFlags& flags,
                                                  const GivenInputs& given) {
  const auto environment = environment_of(common);
  if (!environment)
    return fail(environment.error().front());
  if (!environment->gpu)
    return fail(needs_gpu(stage));
  KAWARA_TRY(driver::Model model, driver::load_model(common.file, gpu_model_options_of(flags)));
  KAWARA_TRY(const auto inputs, read_model_inputs(model, given));
  KAWARA_TRY(const driver::Tape tape, driver::gpu_tape_of(model, inputs));
  driver::GpuProgramOptions options = usual_gpu_options();
  options.makes_code = stage == "resources";
  options.wants_log = true;
  options.verify = common.verify;
  KAWARA_TRY(const driver::GpuPrograms programs,
             driver::gpu_programs_of(tape, *environment, options));
  show_notes(driver::proof_notes(tape, programs));
  std::string text;
  std::map<std::string, int64_t> uses;
  for (const driver::TapeStep& step : tape.steps)
    if (const auto* kernel = std::get_if<driver::TapeKernel>(&step))
      if (uses[kernel->program]++ == 0) {
        const driver::GpuProgram& program = *programs.at(kernel->program);
        text += fmt::format("// {}{}\n{}\n", program.name,
                            program.is_scheduled ? "" : ", in the order of its text",
                            stage == "cuda" ? program.unit.text : resources_of(program.cubin.log));
      }
  return text;
}

} // namespace kawara::tools
