#include "run/cuda/device.h"

#include <algorithm>
#include <array>

namespace kawara::run {
namespace {

using Status = int;

// Numbers of the CUDA driver's interface.
constexpr int kMultiprocessors = 16;
constexpr int kRegistersPerMultiprocessor = 82;
constexpr int kSharedPerMultiprocessor = 81;
constexpr int kSharedPerBlock = 97;
constexpr int kThreadsPerMultiprocessor = 39;
constexpr int kL2Bytes = 38;
constexpr int kMajor = 75, kMinor = 76;
constexpr int kDynamicSharedAttribute = 8;
constexpr int kMapOfU8 = 0, kMapOfI32 = 3, kMapOfF32 = 7, kMapOfF16 = 6, kMapOfBf16 = 9;
constexpr int kSwizzleOf128Bytes = 3, kPromoteTo128Bytes = 2, kPromoteTo256Bytes = 3;
constexpr int kMayBeginEarly = 6; ///< "programmatic stream serialization"

// As the driver lays them out.
struct LaunchAttribute {
  int id = 0;
  int unused = 0;
  int value[16] = {};
};
struct LaunchConfig {
  unsigned blocks[3] = {}, threads[3] = {};
  unsigned shared = 0;
  void* stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned count = 0;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);

Diagnostic no_driver() {
  Diagnostic d;
  d.code = "K0712";
  d.headline = "the CUDA driver is not on this machine";
  d.body.push_back("It is opened when it is needed (libcuda.so.1), and was not found.");
  d.help.push_back({"run on a machine with an NVIDIA GPU and its driver, or only look at the code",
                    "kawara show FILE --target cuda:sm_90a --stage cuda", false});
  return d;
}

} // namespace

struct CudaDevice::Api {
  std::shared_ptr<Library> library;
  Status (*init)(unsigned) = nullptr;
  Status (*error_string)(Status, const char**) = nullptr;
  Status (*device_get)(int*, int) = nullptr;
  Status (*device_name)(char*, int, int) = nullptr;
  Status (*device_attribute)(int*, int, int) = nullptr;
  Status (*device_bus)(char*, int, int) = nullptr;
  Status (*context_retain)(void**, int) = nullptr;
  Status (*context_release)(int) = nullptr;
  Status (*context_set)(void*) = nullptr;
  Status (*stream_create)(void**, unsigned) = nullptr;
  Status (*stream_destroy)(void*) = nullptr;
  Status (*stream_synchronize)(void*) = nullptr;
  Status (*module_load)(void**, const void*) = nullptr;
  Status (*module_unload)(void*) = nullptr;
  Status (*module_function)(void**, void*, const char*) = nullptr;
  Status (*function_attribute)(void*, int, int) = nullptr;
  Status (*memory_allocate)(DevicePointer*, size_t) = nullptr;
  Status (*memory_free)(DevicePointer) = nullptr;
  Status (*copy_to)(DevicePointer, const void*, size_t, void*) = nullptr;
  Status (*copy_from)(void*, DevicePointer, size_t, void*) = nullptr;
  Status (*copy_within)(DevicePointer, DevicePointer, size_t, void*) = nullptr;
  Status (*host_allocate)(void**, size_t) = nullptr;
  Status (*host_free)(void*) = nullptr;
  Status (*capture_begin)(void*, int) = nullptr;
  Status (*capture_end)(void*, void**) = nullptr;
  Status (*graph_instantiate)(void**, void*, unsigned long long) = nullptr;
  Status (*graph_launch)(void*, void*) = nullptr;
  Status (*graph_destroy)(void*) = nullptr;
  Status (*graph_exec_destroy)(void*) = nullptr;
  Status (*memory_set)(DevicePointer, unsigned char, size_t, void*) = nullptr;
  Status (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**) = nullptr;
  Status (*event_create)(void**, unsigned) = nullptr;
  Status (*event_destroy)(void*) = nullptr;
  Status (*event_record)(void*, void*) = nullptr;
  Status (*event_elapsed)(float*, void*, void*) = nullptr;
  // Of drivers for Hopper and later; null elsewhere.
  Status (*launch_as)(const void*, void*, void**, void**) = nullptr;
  Status (*encode_map)(void*, int, unsigned, DevicePointer, const uint64_t*, const uint64_t*,
                       const unsigned*, const unsigned*, int, int, int, int) = nullptr;
  Status (*encode_window_map)(void*, int, unsigned, DevicePointer, const uint64_t*, const uint64_t*,
                              const int*, const int*, unsigned, unsigned, const unsigned*, int, int,
                              int, int) = nullptr;

  bool open() {
    library = Library::open({"libcuda.so.1", "libcuda.so"});
    if (!library)
      return false;
    bool is_complete = true;
    const auto find = [&](auto& pointer, const char* name) {
      pointer =
          library->function<std::remove_pointer_t<std::remove_reference_t<decltype(pointer)>>>(
              name);
      is_complete = is_complete && pointer != nullptr;
    };
    find(init, "cuInit");
    find(error_string, "cuGetErrorString");
    find(device_get, "cuDeviceGet");
    find(device_name, "cuDeviceGetName");
    find(device_attribute, "cuDeviceGetAttribute");
    find(device_bus, "cuDeviceGetPCIBusId");
    find(context_retain, "cuDevicePrimaryCtxRetain");
    find(context_release, "cuDevicePrimaryCtxRelease_v2");
    find(context_set, "cuCtxSetCurrent");
    find(stream_create, "cuStreamCreate");
    find(stream_destroy, "cuStreamDestroy_v2");
    find(stream_synchronize, "cuStreamSynchronize");
    find(module_load, "cuModuleLoadData");
    find(module_unload, "cuModuleUnload");
    find(module_function, "cuModuleGetFunction");
    find(function_attribute, "cuFuncSetAttribute");
    find(memory_allocate, "cuMemAlloc_v2");
    find(memory_free, "cuMemFree_v2");
    find(copy_to, "cuMemcpyHtoDAsync_v2");
    find(copy_from, "cuMemcpyDtoHAsync_v2");
    find(copy_within, "cuMemcpyDtoDAsync_v2");
    find(host_allocate, "cuMemAllocHost_v2");
    find(host_free, "cuMemFreeHost");
    find(capture_begin, "cuStreamBeginCapture_v2");
    find(capture_end, "cuStreamEndCapture");
    find(graph_instantiate, "cuGraphInstantiateWithFlags");
    find(graph_launch, "cuGraphLaunch");
    find(graph_destroy, "cuGraphDestroy");
    find(graph_exec_destroy, "cuGraphExecDestroy");
    find(memory_set, "cuMemsetD8Async");
    find(launch, "cuLaunchKernel");
    find(event_create, "cuEventCreate");
    find(event_destroy, "cuEventDestroy_v2");
    find(event_record, "cuEventRecord");
    find(event_elapsed, "cuEventElapsedTime");
    launch_as = library->function<std::remove_pointer_t<decltype(launch_as)>>("cuLaunchKernelEx");
    encode_map =
        library->function<std::remove_pointer_t<decltype(encode_map)>>("cuTensorMapEncodeTiled");
    encode_window_map = library->function<std::remove_pointer_t<decltype(encode_window_map)>>(
        "cuTensorMapEncodeIm2col");
    return is_complete;
  }
};

Result<Done, Diagnostic> CudaDevice::checked(int status, const std::string& doing) const {
  if (status == 0)
    return Done{};
  const char* words = nullptr;
  api_->error_string(status, &words);
  Diagnostic d;
  d.code = "K0713";
  d.headline = "the GPU could not " + doing;
  d.body.push_back("The driver says: " + std::string(words != nullptr ? words : "unknown error") +
                   " (error " + std::to_string(status) + ").");
  return fail(std::move(d));
}

Result<std::shared_ptr<CudaDevice>, Diagnostic> CudaDevice::open() {
  std::shared_ptr<CudaDevice> device(new CudaDevice);
  device->api_ = std::make_unique<Api>();
  Api& api = *device->api_;
  if (!api.open())
    return fail(no_driver());
  const auto check = [&](Status status, const char* doing) {
    return device->checked(status, doing);
  };
  KAWARA_TRY([[maybe_unused]] const Done d0, check(api.init(0), "be initialised"));
  KAWARA_TRY([[maybe_unused]] const Done d1,
             check(api.device_get(&device->device_, 0), "be found"));
  KAWARA_TRY([[maybe_unused]] const Done d2,
             check(api.context_retain(&device->context_, device->device_), "be opened"));
  KAWARA_TRY([[maybe_unused]] const Done d3, check(api.context_set(device->context_), "be opened"));
  KAWARA_TRY([[maybe_unused]] const Done d4,
             check(api.stream_create(&device->stream_, 1), "make a stream"));
  for (void*& event : device->events_) {
    KAWARA_TRY([[maybe_unused]] const Done done,
               check(api.event_create(&event, 0), "make an event"));
  }
  const auto fact = [&](int attribute) -> int64_t {
    int value = 0;
    api.device_attribute(&value, attribute, device->device_);
    return value;
  };
  device->places_early_ = fact(kMajor) >= 9;
  const std::string number = std::to_string(fact(kMajor)) + std::to_string(fact(kMinor));
  // Hopper's own instructions are those of the architecture with an `a`.
  const std::string arch = "sm_" + number + (number == "90" ? "a" : "");
  device->gpu_ = target::named_gpu(arch).value_or(target::Gpu{});
  target::Gpu& gpu = device->gpu_;
  char name[256] = {};
  api.device_name(name, sizeof name - 1, device->device_);
  gpu.name = name;
  gpu.arch = arch;
  gpu.multiprocessors = fact(kMultiprocessors);
  gpu.shared_per_block = fact(kSharedPerBlock);
  gpu.shared_per_multiprocessor = fact(kSharedPerMultiprocessor);
  gpu.registers_per_multiprocessor = fact(kRegistersPerMultiprocessor);
  gpu.threads_per_multiprocessor = fact(kThreadsPerMultiprocessor);
  gpu.registers_per_thread = 255;
  gpu.l2 = fact(kL2Bytes);
  return device;
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr)
    return;
  api_->context_set(context_);
  for (const auto& [bytes, pointer] : pool_)
    api_->memory_free(pointer);
  for (void* graph : graphs_)
    api_->graph_exec_destroy(graph);
  for (void* module : modules_)
    api_->module_unload(module);
  for (void* event : events_)
    if (event != nullptr)
      api_->event_destroy(event);
  if (stream_ != nullptr)
    api_->stream_destroy(stream_);
  api_->context_release(device_);
}

Result<std::vector<CudaDevice::Function>, Diagnostic>
CudaDevice::load(const std::string& cubin, const std::vector<std::string>& names,
                 const std::vector<int64_t>& dynamic_shared) {
  void* module = nullptr;
  const std::string what = names.empty() ? "an empty program" : "kernel `" + names[0] + "`";
  KAWARA_TRY([[maybe_unused]] const Done loaded,
             checked(api_->module_load(&module, cubin.data()), "load " + what));
  modules_.push_back(module);
  std::vector<Function> functions;
  for (size_t f = 0; f < names.size(); ++f) {
    Function function{nullptr, names[f]};
    KAWARA_TRY([[maybe_unused]] const Done found,
               checked(api_->module_function(&function.handle, module, names[f].c_str()),
                       "find kernel `" + names[f] + "`"));
    if (dynamic_shared[f] > 0) {
      KAWARA_TRY([[maybe_unused]] const Done set,
                 checked(api_->function_attribute(function.handle, kDynamicSharedAttribute,
                                                  static_cast<int>(dynamic_shared[f])),
                         "give kernel `" + names[f] + "` " + std::to_string(dynamic_shared[f]) +
                             " bytes of shared memory"));
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

Result<DevicePointer, Diagnostic> CudaDevice::allocate(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 1);
  {
    const std::lock_guard lock(pool_mutex_);
    if (const auto found = pool_.find(bytes); found != pool_.end()) {
      const DevicePointer pointer = found->second;
      pool_.erase(found);
      return pointer;
    }
  }
  DevicePointer pointer = 0;
  KAWARA_TRY([[maybe_unused]] const Done done,
             checked(api_->memory_allocate(&pointer, static_cast<size_t>(bytes)),
                     "give " + std::to_string(bytes) + " bytes of memory"));
  return pointer;
}

void CudaDevice::release(DevicePointer pointer, int64_t bytes) {
  const std::lock_guard lock(pool_mutex_);
  pool_.emplace(std::max<int64_t>(bytes, 1), pointer);
}

Result<Done, Diagnostic> CudaDevice::upload(DevicePointer to, const void* from, int64_t bytes) {
  if (bytes <= 0)
    return Done{};
  return checked(api_->copy_to(to, from, static_cast<size_t>(bytes), stream_), "copy an input");
}

Result<Done, Diagnostic> CudaDevice::download(void* to, DevicePointer from, int64_t bytes) {
  if (bytes <= 0)
    return Done{};
  KAWARA_TRY(
      [[maybe_unused]] const Done done,
      checked(api_->copy_from(to, from, static_cast<size_t>(bytes), stream_), "copy a result"));
  return wait("copy a result");
}

Result<Done, Diagnostic> CudaDevice::download_later(void* to, DevicePointer from, int64_t bytes) {
  if (bytes <= 0)
    return Done{};
  return checked(api_->copy_from(to, from, static_cast<size_t>(bytes), stream_), "copy a result");
}

Result<Done, Diagnostic> CudaDevice::copy(DevicePointer to, DevicePointer from, int64_t bytes) {
  if (bytes <= 0)
    return Done{};
  return checked(api_->copy_within(to, from, static_cast<size_t>(bytes), stream_),
                 "copy within its memory");
}

Result<void*, Diagnostic> CudaDevice::allocate_host(int64_t bytes) {
  void* memory = nullptr;
  KAWARA_TRY([[maybe_unused]] const Done done,
             checked(api_->host_allocate(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                     "reach " + std::to_string(bytes) + " bytes of the host's memory"));
  return memory;
}

void CudaDevice::release_host(void* memory) {
  if (memory != nullptr)
    api_->host_free(memory);
}

Result<CudaDevice::Graph, Diagnostic>
CudaDevice::capture(const std::function<Result<Done, Diagnostic>()>& work,
                    const std::string& doing) {
  constexpr int kOfThisThread = 1; ///< other threads may use the driver meanwhile
  KAWARA_TRY([[maybe_unused]] const Done begun,
             checked(api_->capture_begin(stream_, kOfThisThread), doing));
  const auto asked = work();
  void* graph = nullptr;
  const Status ended = api_->capture_end(stream_, &graph);
  if (!asked) {
    if (graph != nullptr)
      api_->graph_destroy(graph);
    return fail(asked.error());
  }
  KAWARA_TRY([[maybe_unused]] const Done captured, checked(ended, doing));
  void* ready = nullptr;
  const Status made = api_->graph_instantiate(&ready, graph, 0);
  api_->graph_destroy(graph);
  KAWARA_TRY([[maybe_unused]] const Done instantiated, checked(made, doing));
  graphs_.push_back(ready);
  return Graph{ready};
}

Result<Done, Diagnostic> CudaDevice::replay(const Graph& graph, const std::string& doing) {
  return checked(api_->graph_launch(graph.handle, stream_), doing);
}

Result<Done, Diagnostic> CudaDevice::fill(DevicePointer pointer, unsigned char value,
                                          int64_t bytes) {
  if (bytes <= 0)
    return Done{};
  return checked(api_->memory_set(pointer, value, static_cast<size_t>(bytes), stream_),
                 "fill memory");
}

Result<Done, Diagnostic> CudaDevice::launch(const Function& function, const unsigned (&blocks)[3],
                                            const unsigned (&threads)[3], int64_t dynamic_shared,
                                            std::span<void*> arguments, bool waits_itself) {
  if (waits_itself && places_early_ && api_->launch_as != nullptr) {
    LaunchAttribute early;
    early.id = kMayBeginEarly;
    early.value[0] = 1;
    LaunchConfig config;
    std::copy_n(blocks, 3, config.blocks);
    std::copy_n(threads, 3, config.threads);
    config.shared = static_cast<unsigned>(dynamic_shared);
    config.stream = stream_;
    config.attributes = &early;
    config.count = 1;
    return checked(api_->launch_as(&config, function.handle, arguments.data(), nullptr),
                   "launch kernel `" + function.name + "`");
  }
  return checked(api_->launch(function.handle, blocks[0], blocks[1], blocks[2], threads[0],
                              threads[1], threads[2], static_cast<unsigned>(dynamic_shared),
                              stream_, arguments.data(), nullptr),
                 "launch kernel `" + function.name + "`");
}

std::string CudaDevice::pci_bus() const {
  char text[32] = "";
  return api_->device_bus(text, sizeof text, device_) == 0 ? text : "";
}

Result<Done, Diagnostic> CudaDevice::wait(const std::string& doing) {
  return checked(api_->stream_synchronize(stream_), doing);
}

Result<double, Diagnostic>
CudaDevice::seconds_of(const std::function<Result<Done, Diagnostic>()>& work) {
  KAWARA_TRY([[maybe_unused]] const Done begun,
             checked(api_->event_record(events_[0], stream_), "take the time"));
  KAWARA_TRY([[maybe_unused]] const Done done, work());
  KAWARA_TRY([[maybe_unused]] const Done ended,
             checked(api_->event_record(events_[1], stream_), "take the time"));
  KAWARA_TRY([[maybe_unused]] const Done waited, wait("finish what is timed"));
  float milliseconds = 0;
  KAWARA_TRY([[maybe_unused]] const Done read,
             checked(api_->event_elapsed(&milliseconds, events_[0], events_[1]), "take the time"));
  return static_cast<double>(milliseconds) * 1e-3;
}

Result<CudaDevice::TensorMap, Diagnostic> CudaDevice::tensor_map(DevicePointer at,
                                                                 scalar::Elem elem,
                                                                 const std::vector<int64_t>& given,
                                                                 const emit::CudaMap& how) const {
  std::vector<int64_t> extents = given, box = how.box;
  if (how.walk && extents.size() == 3) { // one image
    extents.insert(extents.begin(), 1);
    box.insert(box.begin(), 1);
  }
  constexpr int kNotSupported = 801; ///< of the driver
  const std::string doing = "describe a tensor to TMA";
  if (how.walk ? api_->encode_window_map == nullptr : api_->encode_map == nullptr)
    return fail(checked(kNotSupported, doing).error());
  const auto rank = static_cast<unsigned>(extents.size());
  std::vector<uint64_t> sizes, strides;
  std::vector<unsigned> boxes;
  std::vector<unsigned> steps(rank, 1);
  auto stride = static_cast<uint64_t>(scalar::bytes_of(elem));
  for (size_t d = rank; d-- > 0;) {
    sizes.push_back(static_cast<uint64_t>(extents[d]));
    boxes.push_back(static_cast<unsigned>(box[d]));
    stride *= static_cast<uint64_t>(extents[d]);
    strides.push_back(stride);
  }
  const int type = elem == scalar::Elem::BF16    ? kMapOfBf16
                   : elem == scalar::Elem::F16   ? kMapOfF16
                   : scalar::bytes_of(elem) == 1 ? kMapOfU8
                   : scalar::is_integer(elem)    ? kMapOfI32
                                                 : kMapOfF32;
  TensorMap map{};
  if (how.walk) {
    sizes[0] = static_cast<uint64_t>(how.walk->channels);
    const int64_t beside =
        (how.walk->channels - 1) / extents[3]; // elements that a place runs on into
    sizes[1] -= static_cast<uint64_t>(beside);
    std::array<int, 2> low{}, high{}; // x, y; counted from the image's first and last elements
    for (size_t d = 0; d < 2; ++d) {
      steps[2 - d] = static_cast<unsigned>(how.walk->stride[d]);
      low[1 - d] = static_cast<int>(how.walk->first[d]);
      high[1 - d] = static_cast<int>(how.walk->last[d] - static_cast<int64_t>(sizes[2 - d]) + 1);
    }
    KAWARA_TRY(
        [[maybe_unused]] const Done done,
        checked(api_->encode_window_map(&map, type, rank, at, sizes.data(), strides.data(),
                                        low.data(), high.data(), boxes[0], boxes[1], steps.data(),
                                        0, kSwizzleOf128Bytes, kPromoteTo256Bytes, 0),
                doing));
    return map;
  }
  KAWARA_TRY(
      [[maybe_unused]] const Done done,
      checked(api_->encode_map(&map, type, rank, at, sizes.data(), strides.data(), boxes.data(),
                               steps.data(), 0, kSwizzleOf128Bytes,
                               strides[0] % 256 == 0 ? kPromoteTo256Bytes : kPromoteTo128Bytes, 0),
              doing));
  return map;
}

} // namespace kawara::run
