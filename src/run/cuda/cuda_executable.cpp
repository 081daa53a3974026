#include "run/cuda/cuda_executable.h"

#include "kernel/interpret/interpret.h"
#include "kernel/walk.h"
#include "scalar/eval.h"

#include <algorithm>
#include <cmath>

namespace kawara::run {
namespace {

using kernel::Scope;
using scalar::Expr;

constexpr unsigned char kPoison = 0xff; ///< NaN in every float type

Diagnostic too_much_shared(const emit::CudaLaunch& launch, int64_t limit) {
  Diagnostic d;
  d.code = "K0714";
  d.headline = "kernel `" + launch.name + "` needs more shared memory than a block has";
  d.body.push_back("It needs " + std::to_string(launch.shared_bytes) + " bytes; a block can have " +
                   std::to_string(limit) + ".");
  d.help.push_back({"stage smaller tiles", "", false});
  return d;
}

} // namespace

/// Buffers on the device, by number; returned to the pool at the end.
struct CudaExecutable::Memory {
  explicit Memory(std::shared_ptr<CudaDevice> on) : device(std::move(on)) {}
  Memory(Memory&& other) noexcept
      : device(std::move(other.device)), pointers(std::exchange(other.pointers, {})) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    for (const auto& [buffer, memory] : pointers)
      device->release(memory.first, memory.second);
  }
  std::shared_ptr<CudaDevice> device;
  Places pointers;
};

namespace {

/// Runs the host's part of a kernel: loops, conditions, fills and launches.
class Host {
public:
  using Start = std::function<Result<Done, Diagnostic>(size_t number, const unsigned (&)[3],
                                                       const kernel::Launch&, const Host&)>;
  using Clear = std::function<Result<Done, Diagnostic>(uint32_t buffer)>;

  Host(const kernel::Kernel& kernel, std::span<const int64_t> params, Start start, Clear clear)
      : params_(params.begin(), params.end()), variables_(kernel.variables.size(), 0),
        start_(std::move(start)), clear_(std::move(clear)) {
    kernel::visit(kernel.body,
                  [&](const kernel::Launch& launch) { numbers_[launch.name] = numbers_.size(); });
  }

  Result<Done, Diagnostic> block(const kernel::Block& statements) {
    for (const kernel::Stmt& stmt : statements) {
      KAWARA_TRY([[maybe_unused]] const Done done, one(stmt));
    }
    return Done{};
  }

  int64_t param(uint32_t p) const { return params_[p]; }
  int64_t variable(uint32_t v) const { return variables_[v]; }

private:
  int64_t value(const Expr& e) const {
    const Expr known = scalar::simplify(scalar::rewrite(e, [&](const Expr& n) {
      const auto* v = scalar::as<scalar::Var>(n);
      return v != nullptr ? scalar::int_lit(variables_[v->id]) : Expr();
    }));
    return scalar::evaluate_index(known, {}, params_).value_or(0);
  }

  bool holds(const Expr& cond) const {
    return value(scalar::select(cond, scalar::int_lit(1), scalar::int_lit(0))) != 0;
  }

  Result<Done, Diagnostic> one(const kernel::Stmt& stmt) {
    if (const auto* loop = std::get_if<kernel::For>(&stmt)) {
      const int64_t hi = value(loop->hi);
      for (int64_t i = value(loop->lo); i < hi; i += loop->step) {
        variables_[loop->var] = i;
        KAWARA_TRY([[maybe_unused]] const Done done, block(loop->body));
      }
      return Done{};
    }
    if (const auto* branch = std::get_if<kernel::If>(&stmt))
      return block(holds(branch->cond) ? branch->then : branch->otherwise);
    if (const auto* allocate = std::get_if<kernel::Allocate>(&stmt))
      return block(allocate->body);
    if (const auto* define = std::get_if<kernel::Define>(&stmt))
      variables_[define->var] = value(define->value);
    if (const auto* zero = std::get_if<kernel::Zero>(&stmt))
      return clear_(zero->buffer);
    const auto* launch = std::get_if<kernel::Launch>(&stmt);
    if (launch == nullptr)
      return Done{};
    unsigned blocks[3] = {};
    for (size_t a = 0; a < 3; ++a)
      blocks[a] = static_cast<unsigned>(std::max<int64_t>(value(launch->blocks[a]), 0));
    if (blocks[0] == 0 || blocks[1] == 0 || blocks[2] == 0)
      return Done{};
    return start_(numbers_.at(launch->name), blocks, *launch, *this);
  }

  std::vector<int64_t> params_, variables_;
  std::map<std::string, size_t> numbers_;
  Start start_;
  Clear clear_;
};

} // namespace

std::optional<Diagnostic> refuse_resources(const emit::CudaUnit& unit, const target::Gpu& gpu) {
  for (const emit::CudaLaunch& launch : unit.launches)
    if (launch.shared_bytes > gpu.shared_per_block)
      return too_much_shared(launch, gpu.shared_per_block);
  return std::nullopt;
}

Result<CudaExecutable, Diagnostic> CudaExecutable::load(kernel::Kernel kernel,
                                                        const emit::CudaUnit& unit,
                                                        std::shared_ptr<CudaDevice> device,
                                                        NvrtcOptions options) {
  if (auto refused = refuse_resources(unit, device->gpu()))
    return fail(*std::move(refused));
  options.flags.insert(options.flags.end(), unit.flags.begin(), unit.flags.end());
  KAWARA_TRY(const Cubin cubin, cubin_from_cuda(unit.text, unit.function, options));
  return load(std::move(kernel), unit, cubin, std::move(device));
}

Result<CudaExecutable, Diagnostic> CudaExecutable::load(kernel::Kernel kernel,
                                                        const emit::CudaUnit& unit,
                                                        const Cubin& cubin,
                                                        std::shared_ptr<CudaDevice> device) {
  std::vector<std::string> names;
  std::vector<int64_t> dynamic;
  for (const emit::CudaLaunch& launch : unit.launches) {
    names.push_back(launch.name);
    dynamic.push_back(launch.is_dynamic ? launch.shared_bytes : 0);
  }
  emit::Signature signature = emit::signature_of(kernel);
  CudaExecutable result(std::move(kernel), std::move(signature));
  KAWARA_TRY(result.functions_, device->load(cubin.bytes, names, dynamic));
  result.launches_ = unit.launches;
  result.device_ = std::move(device);
  result.has_narrow_indices_ = unit.has_narrow_indices;
  return result;
}

Result<CudaExecutable::Memory, Diagnostic>
CudaExecutable::memory_for(std::span<void* const> arguments,
                           std::span<const int64_t> params) const {
  Memory memory(device_);
  for (const auto* list : {&signature_.arguments, &signature_.workspace})
    for (size_t n = 0; n < list->size(); ++n) {
      const emit::BufferInfo& info = (*list)[n];
      const int64_t bytes = emit::bytes_of(info, params).value_or(0);
      KAWARA_TRY(const DevicePointer pointer, device_->allocate(bytes));
      memory.pointers[info.id] = {pointer, bytes};
      const bool has_values = list == &signature_.arguments && (info.role == program::Role::Input ||
                                                                info.role == program::Role::Inout);
      KAWARA_TRY([[maybe_unused]] const Done done,
                 has_values ? device_->upload(pointer, arguments[n], bytes)
                            : device_->fill(pointer, kPoison, bytes));
    }
  return memory;
}

Result<Done, Diagnostic> CudaExecutable::run(const Places& places,
                                             std::span<const int64_t> params) const {
  const auto start = [&](size_t number, const unsigned(&blocks)[3], const kernel::Launch& launch,
                         const Host& host) -> Result<Done, Diagnostic> {
    const emit::CudaLaunch& passed = launches_[number];
    // Both forms of every index stay in place until the launch has read them.
    std::vector<int64_t> wide;
    for (const uint32_t p : passed.params)
      wide.push_back(host.param(p));
    for (const uint32_t v : passed.variables)
      wide.push_back(host.variable(v));
    std::vector<int32_t> narrow(wide.begin(), wide.end());
    std::vector<DevicePointer> pointers;
    for (const uint32_t b : passed.buffers)
      pointers.push_back(places.at(b).first);
    std::vector<void*> arguments;
    for (size_t n = 0; n < wide.size(); ++n)
      arguments.push_back(has_narrow_indices_ ? static_cast<void*>(&narrow[n])
                                              : static_cast<void*>(&wide[n]));
    for (DevicePointer& pointer : pointers)
      arguments.push_back(&pointer);
    std::vector<CudaDevice::TensorMap> maps;
    for (const emit::CudaMap& map : passed.maps) {
      const kernel::Buffer& buffer = kernel_.buffers[map.buffer];
      KAWARA_TRY(const CudaDevice::TensorMap made,
                 device_->tensor_map(places.at(map.buffer).first, buffer.elem,
                                     kernel::extents_of(buffer, {params.begin(), params.end()}),
                                     map));
      maps.push_back(made);
    }
    for (CudaDevice::TensorMap& map : maps)
      arguments.push_back(&map);
    unsigned threads[3] = {};
    for (size_t a = 0; a < 3; ++a)
      threads[a] = static_cast<unsigned>(launch.threads[a]);
    return device_->launch(functions_[number], blocks, threads,
                           passed.is_dynamic ? passed.shared_bytes : 0, arguments,
                           !passed.is_alone);
  };
  const auto clear = [&](uint32_t buffer) {
    const auto& [pointer, bytes] = places.at(buffer);
    return device_->fill(pointer, 0, bytes);
  };
  return Host(kernel_, params, start, clear).block(kernel_.body);
}

int64_t CudaExecutable::workspace_bytes() const {
  const auto offsets = emit::layout_of(signature_.workspace, {});
  return offsets ? offsets->back() : 0;
}

Result<Done, Diagnostic> CudaExecutable::start(std::span<const DevicePointer> arguments,
                                               DevicePointer workspace) const {
  Places places;
  for (size_t n = 0; n < arguments.size(); ++n) {
    const emit::BufferInfo& info = signature_.arguments[n];
    places[info.id] = {arguments[n], emit::bytes_of(info, {}).value_or(0)};
  }
  const auto offsets = emit::layout_of(signature_.workspace, {});
  for (size_t n = 0; offsets && n < signature_.workspace.size(); ++n) {
    const emit::BufferInfo& info = signature_.workspace[n];
    places[info.id] = {workspace + static_cast<DevicePointer>((*offsets)[n]),
                       emit::bytes_of(info, {}).value_or(0)};
  }
  return run(places, {});
}

Result<Done, Diagnostic> CudaExecutable::call(std::span<void* const> arguments,
                                              std::span<const int64_t> params) const {
  KAWARA_TRY(const Memory memory, memory_for(arguments, params));
  KAWARA_TRY([[maybe_unused]] const Done done, run(memory.pointers, params));
  KAWARA_TRY([[maybe_unused]] const Done waited,
             device_->wait("run kernel `" + signature_.name + "`"));
  for (size_t n = 0; n < signature_.arguments.size(); ++n) {
    const emit::BufferInfo& info = signature_.arguments[n];
    const auto& [pointer, bytes] = memory.pointers.at(info.id);
    if (info.role == program::Role::Input)
      continue;
    KAWARA_TRY([[maybe_unused]] const Done copied, device_->download(arguments[n], pointer, bytes));
  }
  return Done{};
}

Result<Timing, Diagnostic> CudaExecutable::time(std::span<void* const> arguments,
                                                std::span<const int64_t> params,
                                                const MeasureOptions& options) const {
  KAWARA_TRY(const Memory memory, memory_for(arguments, params));
  const auto batch_seconds = [&](int64_t calls) {
    return device_->seconds_of([&]() -> Result<Done, Diagnostic> {
      for (int64_t call = 0; call < calls; ++call) {
        KAWARA_TRY([[maybe_unused]] const Done done, run(memory.pointers, params));
      }
      return Done{};
    });
  };
  KAWARA_TRY(const double first, batch_seconds(1));
  KAWARA_TRY(const double second, batch_seconds(1));
  const double one = std::max(1e-6, std::min(first, second));
  const auto calls_of = [&](double seconds_of_one) {
    return std::clamp<int64_t>(std::llround(options.sample_seconds / seconds_of_one), 1,
                               options.most_calls);
  };
  // Calls that wait for each other take less than one alone: its launch is hidden.
  const int64_t few = std::min<int64_t>(calls_of(one), 1000);
  KAWARA_TRY(const double warm, batch_seconds(few));
  const int64_t batch = calls_of(std::max(warm / static_cast<double>(few), 1e-7));
  std::vector<double> samples;
  double spent = 0;
  for (int s = 0; s < options.samples && (s < 3 || spent < options.limit_seconds); ++s) {
    if (options.sampling)
      options.sampling();
    KAWARA_TRY(const double seconds, batch_seconds(batch));
    if (options.sampled)
      options.sampled();
    samples.push_back(seconds / static_cast<double>(batch));
    spent += seconds;
  }
  return summarise(std::move(samples), batch);
}

} // namespace kawara::run
