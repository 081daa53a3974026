#include "kawara/commands/tune.h"
#include "kawara/model.h"

#include "run/cuda/device.h"
#include "tune/measure/subprocess.h"

#include <nlohmann/json.hpp>

namespace kawara::tools {
namespace {

Diagnostic cannot_tune_for(const std::string& target, std::string why) {
  Diagnostic d;
  d.code = "K0645";
  d.headline = "cannot tune for `" + target + "`";
  d.body.push_back(std::move(why));
  d.help.push_back({"tune for this machine's processor", "kawara tune FILE", false});
  return d;
}

nlohmann::json json_from(const target::Gpu& gpu) {
  const target::GpuRates& r = gpu.rates;
  return {{"name", gpu.name},
          {"arch", gpu.arch},
          {"whole",
           {gpu.multiprocessors, gpu.shared_per_block, gpu.shared_per_multiprocessor,
            gpu.registers_per_multiprocessor, gpu.registers_per_thread,
            gpu.threads_per_multiprocessor, gpu.l2}},
          {"real", {gpu.bandwidth, r.f64, r.f32, r.tf32, r.bf16, r.f16, r.f8, r.i8}}};
}

target::Gpu gpu_from(const nlohmann::json& json) {
  const auto whole = json.at("whole").get<std::vector<int64_t>>();
  const auto real = json.at("real").get<std::vector<double>>();
  return {json.at("name"),
          json.at("arch"),
          whole.at(0),
          whole.at(1),
          whole.at(2),
          whole.at(3),
          whole.at(4),
          whole.at(5),
          whole.at(6),
          real.at(0),
          {real.at(1), real.at(2), real.at(3), real.at(4), real.at(5), real.at(6), real.at(7)}};
}

/// The GPU of this machine. The driver must not be opened in a process that forks, so another one
/// asks it.
Parsed<target::Gpu> gpu_of_this_machine() {
  KAWARA_TRY(const std::string text, tune::run_in_subprocess([]() -> Parsed<std::string> {
               const auto device = run::CudaDevice::open();
               if (!device)
                 return fail(Diagnostics{device.error()});
               return json_from((*device)->gpu()).dump();
             }));
  return gpu_from(nlohmann::json::parse(text));
}

} // namespace

Parsed<schedule::Environment> tune_environment(const TuneSettings& options) {
  if (options.target.empty() || options.target == "cpu")
    return driver::host_environment();
  const auto refuse = [&](std::string why) {
    return fail(Diagnostics{cannot_tune_for(options.target, std::move(why))});
  };
  if (options.crew != nullptr)
    return refuse("Processes that `mpirun` starts measure on processors only.");
  const bool is_named = options.target != "cuda";
  schedule::Environment environment;
  if (is_named) {
    KAWARA_TRY(environment, environment_to_run_on(options));
  }
  const auto gpu = gpu_of_this_machine();
  if (!gpu)
    return refuse("Candidates are run and timed on the GPU, and there is none to run them on: " +
                  gpu.error().front().headline + ".");
  if (!is_named) {
    // As `--target cuda` has it elsewhere, without asking the driver here.
    auto named = options;
    named.target = "cuda:" + gpu->arch;
    KAWARA_TRY(environment, environment_of(named));
    environment.gpu = *gpu;
  }
  if (environment.gpu->arch != gpu->arch)
    return refuse("Candidates are run and timed on the GPU, and the one in this machine is a " +
                  gpu->arch + ".");
  return environment;
}

} // namespace kawara::tools
