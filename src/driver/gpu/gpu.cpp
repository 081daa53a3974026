#include "driver/gpu/gpu.h"

#include "driver/suspects.h"
#include "program/interpret/arguments.h"

#include <cstdlib>

namespace kawara::driver {
namespace {

template <class T> Parsed<T> or_all(Result<T, Diagnostic> result) {
  if (!result)
    return fail(Diagnostics{std::move(result).error()});
  return *std::move(result);
}

/// What the driver says of a launch, with the statements that can have ended it.
template <class T>
Parsed<T> launched(const CompiledForGpu& compiled, Result<T, Diagnostic> result) {
  if (!result && result.error().code == "K0713")
    return fail(
        Diagnostics{with_data_indices(std::move(result).error(), compiled.front.schedule.scop)});
  return or_all(std::move(result));
}

/// Pointers in the order of the kernel's signature.
std::vector<void*> arguments_of(const CompiledForGpu& compiled,
                                std::vector<program::Array>& arrays) {
  std::vector<void*> out;
  const auto& tensors = compiled.front.program.tensors;
  for (const emit::BufferInfo& argument : compiled.executable.signature().arguments)
    for (size_t t = 0; t < tensors.size(); ++t)
      if (tensors[t].name == argument.name)
        out.push_back(arrays[t].data());
  return out;
}

} // namespace

std::filesystem::path cuda_cache() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "kawara" / "cuda";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "kawara" / "cuda";
  return {};
}

emit::CudaUnit cuda_of(const Scheduled& front, const schedule::Environment& environment,
                       Trace& trace) {
  const kernel::Kernel kernel = optimised_kernel_of(front, environment, trace);
  emit::CudaUnit unit = trace.stage("emit", [&] { return emit::cuda_from_kernel(kernel); });
  trace.after(
      "emit", [] { return std::vector<std::string>{}; }, [&] { return unit.text; });
  return unit;
}

Parsed<CompiledForGpu> compile_for_gpu(const Request& request,
                                       const schedule::Environment& environment, Trace& trace) {
  KAWARA_TRY(Scheduled front, schedule(request, environment, trace));
  kernel::Kernel kernel = optimised_kernel_of(front, environment, trace);
  emit::CudaUnit unit = trace.stage("emit", [&] { return emit::cuda_from_kernel(kernel); });
  KAWARA_TRY(auto device, or_all(run::CudaDevice::open()));
  run::NvrtcOptions options;
  options.arch = environment.gpu->arch;
  options.cache = cuda_cache();
  KAWARA_TRY(run::CudaExecutable executable, or_all(trace.stage("run", [&] {
               return run::CudaExecutable::load(kernel, unit, std::move(device), options);
             })));
  return CompiledForGpu{std::move(front), std::move(kernel), std::move(unit),
                        std::move(executable)};
}

Parsed<program::Arrays> call(const CompiledForGpu& compiled, const std::vector<int64_t>& sizes,
                             program::Arrays inputs) {
  KAWARA_TRY(auto arrays,
             or_all(program::bind_arguments(compiled.front.program, sizes, std::move(inputs))));
  const std::vector<void*> arguments = arguments_of(compiled, arrays);
  KAWARA_TRY([[maybe_unused]] const Done done,
             launched(compiled, compiled.executable.call(arguments, sizes)));
  return program::results_of(compiled.front.program, std::move(arrays));
}

Parsed<run::Timing> time_calls(const CompiledForGpu& compiled, const std::vector<int64_t>& sizes,
                               program::Arrays inputs, const run::MeasureOptions& options) {
  KAWARA_TRY(auto arrays,
             or_all(program::bind_arguments(compiled.front.program, sizes, std::move(inputs))));
  const std::vector<void*> arguments = arguments_of(compiled, arrays);
  return launched(compiled, compiled.executable.time(arguments, sizes, options));
}

} // namespace kawara::driver
