#include "driver/target_choice.h"

#include "driver/pipeline.h"
#include "run/cuda/device.h"
#include "support/text.h"

#include <charconv>

namespace kawara::driver {
namespace {

Diagnostic unknown_target(const std::string& name) {
  std::vector<std::string> known = {"cpu", "cuda"};
  for (const std::string& arch : target::named_gpus())
    known.push_back("cuda:" + arch);
  Diagnostic d;
  d.code = "K0301";
  d.headline = "no target is called `" + name + "`";
  d.body.push_back("Targets are " + join(known, ", ") + ".");
  d.body.push_back("Processors by name, to look at their code: cpu:" +
                   join(target::named_cpus(), ", cpu:") + ".");
  d.body.push_back("A number of cores (1 to 1024) may follow: cpu:znver4:1.");
  for (const std::string& cpu : target::named_cpus())
    known.push_back("cpu:" + cpu);
  const bool is_gpu = name == "gpu" || name == "GPU" || name == "nvidia";
  const auto meant = is_gpu ? std::optional<std::string>("cuda") : closest(name, known);
  d.help.push_back(
      {meant ? "did you mean" : "for example", "--target " + meant.value_or("cuda:sm_90a"), false});
  return d;
}

/// `sapphirerapids`, or `sapphirerapids:1` for one core of it.
std::optional<target::Cpu> cpu_by_name(std::string_view name) {
  const size_t colon = name.find(':');
  std::optional<target::Cpu> cpu = target::named_cpu(name.substr(0, colon));
  if (!cpu || colon == std::string_view::npos)
    return cpu;
  const std::string_view cores = name.substr(colon + 1);
  const auto read = std::from_chars(cores.begin(), cores.end(), cpu->cores);
  if (read.ec != std::errc() || read.ptr != cores.end() || cpu->cores < 1 || cpu->cores > 1024)
    return std::nullopt;
  return cpu;
}

} // namespace

bool is_named_cpu(const std::string& name) { return name.starts_with("cpu:"); }

Parsed<schedule::Environment> environment_for(const std::string& name) {
  schedule::Environment environment = host_environment();
  if (name.empty() || name == "cpu")
    return environment;
  if (is_named_cpu(name)) {
    const auto cpu = cpu_by_name(std::string_view(name).substr(4));
    if (!cpu)
      return fail(Diagnostics{unknown_target(name)});
    environment.cpu = *cpu;
    return environment;
  }
  // What directives ask about vectors and caches must not depend on the machine that makes the
  // code.
  environment.cpu = *target::named_cpu("neoverse-n1");
  if (name == "cuda") {
    const auto device = run::CudaDevice::open();
    if (!device)
      return fail(Diagnostics{device.error()});
    environment.gpu = (*device)->gpu();
    return environment;
  }
  if (name.starts_with("cuda:"))
    environment.gpu = target::named_gpu(name.substr(5));
  if (!environment.gpu)
    return fail(Diagnostics{unknown_target(name)});
  return environment;
}

} // namespace kawara::driver
