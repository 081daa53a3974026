#include "driver/gpu/gpu_model.h"

#include "driver/gpu/gpu.h"
#include "driver/gpu/gpu_memory.h"
#include "support/check.h"
#include "support/text.h"

#include <chrono>
#include <cmath>
#include <cstring>

namespace kawara::driver {
namespace {

using run::CudaDevice;
using run::CudaExecutable;
using run::DevicePointer;

constexpr unsigned char kPoisonByte = 0xff; ///< NaN in every float type

std::string doing_of(const Tape& tape) { return "run model `" + printable(tape.name) + "`"; }

} // namespace

struct GpuModel::Impl {
  Tape tape;
  std::shared_ptr<CudaDevice> device;
  std::map<std::string, CudaExecutable> codes; ///< by text
  std::optional<run::CudaGather> gather;
  GpuLayout layout;
  DevicePointer memory = 0;
  std::byte* host = nullptr; ///< inputs, then outputs
  std::vector<int64_t> host_inputs, host_outputs;

  /// Neighbouring steps of one kind.
  struct Segment {
    size_t begin = 0, end = 0;
    bool is_on_host = false;
    CudaDevice::Graph graph = {};
  };
  std::vector<Segment> segments;

  Impl(Tape t, std::shared_ptr<CudaDevice> d) : tape(std::move(t)), device(std::move(d)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (memory != 0)
      device->release(memory, layout.bytes);
    device->release_host(host);
  }

  DevicePointer at(int64_t offset) const { return memory + static_cast<DevicePointer>(offset); }
  const CudaExecutable& code_of(const TapeKernel& kernel) const { return codes.at(kernel.program); }

  Result<Done, Diagnostic> load(const GpuPrograms& programs) {
    for (const auto& [text, program] : programs) {
      KAWARA_TRY(CudaExecutable code,
                 CudaExecutable::load(program->kernel, program->unit, program->cubin, device));
      codes.emplace(text, std::move(code));
    }
    const bool has_look_ups =
        std::any_of(tape.steps.begin(), tape.steps.end(), [](const TapeStep& step) {
          return std::holds_alternative<TapeCall>(step) && runs_on_device(step);
        });
    if (has_look_ups) {
      run::NvrtcOptions options;
      options.arch = device->gpu().arch;
      options.cache = cuda_cache();
      KAWARA_TRY(gather, run::CudaGather::load(device, options));
    }
    return Done{};
  }

  Result<Done, Diagnostic> place() {
    int64_t workspace = 0;
    for (const auto& [text, code] : codes)
      workspace = std::max(workspace, code.workspace_bytes());
    layout = gpu_layout(tape, workspace, [&](size_t step) {
      std::vector<ArgumentSize> sizes;
      const auto& kernel = std::get<TapeKernel>(tape.steps[step]);
      for (const emit::BufferInfo& info : code_of(kernel).signature().arguments)
        sizes.push_back({emit::bytes_of(info, {}).value_or(0), info.role == program::Role::Input});
      return sizes;
    });
    KAWARA_TRY(memory, device->allocate(layout.bytes));
    int64_t bytes = 0;
    const auto reserve = [&](const std::vector<Port>& ports, std::vector<int64_t>& offsets) {
      for (const Port& port : ports) {
        offsets.push_back(bytes);
        bytes += (port.bytes() + 63) / 64 * 64;
      }
    };
    reserve(tape.inputs, host_inputs);
    reserve(tape.outputs, host_outputs);
    KAWARA_TRY(void* const pinned, device->allocate_host(bytes));
    host = static_cast<std::byte*>(pinned);
    for (size_t k = 0; k < tape.constants.size(); ++k)
      if (layout.constants[k] >= 0) {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   device->upload(at(layout.constants[k]), tape.constants[k].data(),
                                  tape.constants[k].bytes()));
      }
    return poison();
  }

  /// Elements that nobody writes shall show.
  Result<Done, Diagnostic> poison() {
    return device->fill(at(layout.weight_bytes), kPoisonByte, layout.bytes - layout.weight_bytes);
  }

  Result<Done, Diagnostic> enqueue(size_t number) {
    const TapeStep& step = tape.steps[number];
    if (const auto* copy = std::get_if<TapeCopy>(&step))
      return device->copy(at(layout.of(copy->to)), at(layout.of(copy->from)), copy->bytes);
    if (const auto* call = std::get_if<TapeCall>(&step))
      return gather->start(gather_sizes(*call), at(layout.of(call->inputs[0]->slot)),
                           at(layout.of(call->inputs[1]->slot)),
                           at(layout.of(call->outputs[0]->slot)));
    const auto& kernel = std::get<TapeKernel>(step);
    std::vector<DevicePointer> arguments;
    for (const Slot& slot : kernel.arguments)
      arguments.push_back(at(layout.of(slot)));
    const auto found = layout.detours.find(number);
    const std::vector<Detour> none;
    const std::vector<Detour>& detours = found == layout.detours.end() ? none : found->second;
    for (const Detour& detour : detours) {
      arguments[detour.number] = at(detour.place);
      if (detour.is_input) {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   device->copy(at(detour.place), at(detour.at), detour.bytes));
      }
    }
    KAWARA_TRY([[maybe_unused]] const Done started,
               code_of(kernel).start(arguments, at(layout.workspace)));
    for (const Detour& detour : detours)
      if (!detour.is_input) {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   device->copy(at(detour.at), at(detour.place), detour.bytes));
      }
    return Done{};
  }

  Result<Done, Diagnostic> capture() {
    for (size_t k = 0; k < tape.steps.size(); ++k) {
      const bool on_host = !runs_on_device(tape.steps[k]);
      if (segments.empty() || segments.back().is_on_host != on_host)
        segments.push_back({k, k, on_host});
      segments.back().end = k + 1;
    }
    for (Segment& segment : segments)
      if (!segment.is_on_host) {
        KAWARA_TRY(segment.graph, device->capture(
                                      [&]() -> Result<Done, Diagnostic> {
                                        for (size_t k = segment.begin; k < segment.end; ++k) {
                                          KAWARA_TRY([[maybe_unused]] const Done done, enqueue(k));
                                        }
                                        return Done{};
                                      },
                                      doing_of(tape)));
      }
    return Done{};
  }

  /// Elements of a value on the host.
  Result<Tensor, Diagnostic> fetch(const TapeTensor& tensor) {
    const auto number = static_cast<size_t>(tensor.slot.at);
    if (tensor.slot.where == Slot::Where::Constant)
      return tape.constants[number].with_type(tensor.type).with_shape(tensor.shape);
    if (tensor.slot.where == Slot::Where::Input)
      return Tensor(tensor.type, tensor.shape,
                    {std::shared_ptr<std::byte>(), host + host_inputs[number]});
    Tensor elements(tensor.type, tensor.shape);
    KAWARA_TRY([[maybe_unused]] const Done done,
               device->download(elements.data(), at(layout.of(tensor.slot)), elements.bytes()));
    return elements;
  }

  Result<Done, Diagnostic> run_on_host(const TapeStep& step) {
    if (const auto* guard = std::get_if<TapeGuard>(&step)) {
      const auto bytes = static_cast<int64_t>(guard->elements.size());
      KAWARA_TRY(const Tensor elements, fetch({guard->slot, graph::DataType::U8, {bytes}}));
      return check(tape, *guard, elements.data());
    }
    const auto& call = std::get<TapeCall>(step);
    std::vector<Datum> data;
    for (const auto& input : call.inputs) {
      data.emplace_back();
      if (input) {
        KAWARA_TRY(data.back().tensor, fetch(*input));
      }
    }
    KAWARA_TRY(const std::vector<Tensor> results, results_of(call, std::move(data)));
    for (size_t k = 0; k < results.size(); ++k)
      if (results[k]) {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   device->upload(at(layout.of(call.outputs[k]->slot)), results[k].data(),
                                  results[k].bytes()));
      }
    // The results' memory goes when this returns.
    return device->wait("copy what " + call.node.op + " gives");
  }

  Result<Done, Diagnostic> run_steps() {
    for (const Segment& segment : segments) {
      if (!segment.is_on_host) {
        KAWARA_TRY([[maybe_unused]] const Done done, device->replay(segment.graph, doing_of(tape)));
        continue;
      }
      for (size_t k = segment.begin; k < segment.end; ++k) {
        KAWARA_TRY([[maybe_unused]] const Done done, run_on_host(tape.steps[k]));
      }
    }
    return Done{};
  }

  /// Step by step, waiting after each, so that an error names the step.
  Result<Done, Diagnostic> run_carefully() {
    for (const TapeStep& step : tape.steps) {
      if (!runs_on_device(step)) {
        KAWARA_TRY([[maybe_unused]] const Done done, run_on_host(step));
        continue;
      }
      const auto* kernel = std::get_if<TapeKernel>(&step);
      KAWARA_TRY([[maybe_unused]] const Done started,
                 enqueue(static_cast<size_t>(&step - tape.steps.data())));
      KAWARA_TRY([[maybe_unused]] const Done done,
                 device->wait(kernel ? "run kernel `" + kernel->name + "`" : "move a value"));
    }
    return Done{};
  }

  Result<Done, Diagnostic> upload_inputs(const std::vector<Datum>& inputs) {
    KAWARA_CHECK(inputs.size() == tape.inputs.size(), "inputs of another model");
    for (size_t k = 0; k < inputs.size(); ++k) {
      const int64_t bytes = tape.inputs[k].bytes();
      KAWARA_CHECK(inputs[k].tensor.bytes() == bytes, "an input of another size");
      std::memcpy(host + host_inputs[k], inputs[k].tensor.data(), static_cast<size_t>(bytes));
      KAWARA_TRY([[maybe_unused]] const Done done,
                 device->upload(at(layout.inputs[k]), host + host_inputs[k], bytes));
    }
    return Done{};
  }

  Result<std::vector<Datum>, Diagnostic> download_outputs() {
    for (size_t k = 0; k < tape.outputs.size(); ++k) {
      KAWARA_TRY([[maybe_unused]] const Done done,
                 device->download_later(host + host_outputs[k], at(layout.outputs[k]),
                                        tape.outputs[k].bytes()));
    }
    KAWARA_TRY([[maybe_unused]] const Done done, device->wait(doing_of(tape)));
    std::vector<Datum> results;
    for (size_t k = 0; k < tape.outputs.size(); ++k) {
      Tensor tensor(tape.outputs[k].type, tape.outputs[k].shape);
      std::memcpy(tensor.data(), host + host_outputs[k], static_cast<size_t>(tensor.bytes()));
      results.push_back({std::move(tensor), false, {}});
    }
    return results;
  }
};

GpuModel::GpuModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GpuModel::GpuModel(GpuModel&&) noexcept = default;
GpuModel& GpuModel::operator=(GpuModel&&) noexcept = default;
GpuModel::~GpuModel() = default;

Result<GpuModel, Diagnostic> GpuModel::make(Tape tape, const GpuPrograms& programs,
                                            std::shared_ptr<CudaDevice> device) {
  auto impl = std::make_unique<Impl>(std::move(tape), std::move(device));
  KAWARA_TRY([[maybe_unused]] const Done loaded, impl->load(programs));
  KAWARA_TRY([[maybe_unused]] const Done placed, impl->place());
  KAWARA_TRY([[maybe_unused]] const Done captured, impl->capture());
  return GpuModel(std::move(impl));
}

const Tape& GpuModel::tape() const { return impl_->tape; }
int64_t GpuModel::weight_bytes() const { return impl_->layout.weight_bytes; }
int64_t GpuModel::work_bytes() const { return impl_->layout.bytes - impl_->layout.weight_bytes; }

int64_t GpuModel::launches() const {
  return std::count_if(
      impl_->tape.steps.begin(), impl_->tape.steps.end(),
      [](const TapeStep& step) { return std::holds_alternative<TapeKernel>(step); });
}

int64_t GpuModel::host_calls() const {
  return std::count_if(impl_->tape.steps.begin(), impl_->tape.steps.end(),
                       [](const TapeStep& step) {
                         return std::holds_alternative<TapeCall>(step) && !runs_on_device(step);
                       });
}

Result<std::vector<Datum>, Diagnostic> GpuModel::run(const std::vector<Datum>& inputs,
                                                     bool is_careful) {
  if (is_careful) {
    KAWARA_TRY([[maybe_unused]] const Done poisoned, impl_->poison());
  }
  KAWARA_TRY([[maybe_unused]] const Done given, impl_->upload_inputs(inputs));
  KAWARA_TRY([[maybe_unused]] const Done done,
             is_careful ? impl_->run_carefully() : impl_->run_steps());
  return impl_->download_outputs();
}

Result<run::Timing, Diagnostic> GpuModel::time(const run::MeasureOptions& options) {
  const auto seconds_of = [&](int64_t calls) {
    return impl_->device->seconds_of([&]() -> Result<Done, Diagnostic> {
      for (int64_t call = 0; call < calls; ++call) {
        KAWARA_TRY([[maybe_unused]] const Done done, impl_->run_steps());
      }
      return Done{};
    });
  };
  KAWARA_TRY([[maybe_unused]] const double cold, seconds_of(2));
  KAWARA_TRY(const double one, seconds_of(1));
  const auto batch =
      std::clamp<int64_t>(std::llround(options.sample_seconds / std::max(one, 1e-6)), 1, 1000);
  KAWARA_TRY([[maybe_unused]] const double warm, seconds_of(batch));
  std::vector<double> samples;
  double spent = 0;
  for (int s = 0; s < options.samples && (s < 3 || spent < options.limit_seconds); ++s) {
    KAWARA_TRY(const double seconds, seconds_of(batch));
    samples.push_back(seconds / static_cast<double>(batch));
    spent += seconds;
  }
  return run::summarise(std::move(samples), batch);
}

Result<std::vector<GpuStepTime>, Diagnostic> GpuModel::profile(int repetitions) {
  std::vector<GpuStepTime> times;
  for (size_t k = 0; k < impl_->tape.steps.size(); ++k) {
    const TapeStep& step = impl_->tape.steps[k];
    const auto* call = std::get_if<TapeCall>(&step);
    if (call && !runs_on_device(step)) {
      const auto begin = std::chrono::steady_clock::now();
      KAWARA_TRY([[maybe_unused]] const Done done, impl_->run_on_host(step));
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      times.push_back({call->node.op, true, passed.count()});
    }
    if (!runs_on_device(step))
      continue;
    const auto* kernel = std::get_if<TapeKernel>(&step);
    const std::string name = kernel ? kernel->name : call ? "gather" : "copy";
    KAWARA_TRY(const CudaDevice::Graph graph, impl_->device->capture(
                                                  [&]() -> Result<Done, Diagnostic> {
                                                    for (int n = 0; n < repetitions; ++n) {
                                                      KAWARA_TRY([[maybe_unused]] const Done done,
                                                                 impl_->enqueue(k));
                                                    }
                                                    return Done{};
                                                  },
                                                  "time `" + name + "`"));
    const auto replay = [&] { return impl_->device->replay(graph, "time `" + name + "`"); };
    KAWARA_TRY([[maybe_unused]] const double cold, impl_->device->seconds_of(replay));
    KAWARA_TRY(const double seconds, impl_->device->seconds_of(replay));
    times.push_back({name, false, seconds / repetitions});
  }
  return times;
}

} // namespace kawara::driver
