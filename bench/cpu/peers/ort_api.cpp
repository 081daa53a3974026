#include "cpu/peers/ort_api.h"

#include <cstdlib>

namespace kawara::bench {
namespace {

/// The version of the table asked for: the first that has all the functions below.
constexpr uint32_t kApiVersion = 11;

struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

/// Places in the table.
enum Place : int {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSessionFromArray = 8,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kCreateTensorWithData = 49,
  kIsTensor = 50,
  kGetTensorData = 51,
  kGetElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorInfo = 65,
  kCreateCpuMemoryInfo = 69,
  kReleaseStatus = 93,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
};

// Values that the interface prescribes.
constexpr int kErrors = 3, kFatal = 4; ///< these and worse are logged
constexpr int kNoOptimisations = 0, kAllOptimisations = 99;
constexpr int kDeviceAllocator = 0, kDefaultMemory = 0;

} // namespace

/// For the functions that return a status: null, or what went wrong.
template <class... Arguments> void OrtApi::call(int place, Arguments... arguments) const {
  const auto function = reinterpret_cast<Status* (*)(Arguments...)>(functions_[place]);
  Status* status = function(arguments...);
  if (status == nullptr)
    return;
  const auto message =
      reinterpret_cast<const char* (*)(const Status*)>(functions_[kGetErrorMessage]);
  const std::string text = message(status);
  reinterpret_cast<void (*)(Status*)>(functions_[kReleaseStatus])(status);
  throw std::runtime_error(text);
}

OrtApi::OrtApi(const SharedLibrary& library, Log log) {
  const auto* found = library.function<const ApiBase* (*)()>("OrtGetApiBase")();
  version_ = found->get_version();
  functions_ = found->get_api(kApiVersion);
  if (functions_ == nullptr)
    throw std::runtime_error(std::string("ONNX Runtime ") + version_ + " is too old");
  call(kCreateEnv, log == Log::Errors ? kErrors : kFatal, static_cast<const char*>("kawara"),
       &env_);
  call(kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &memory_);
}

OrtApi::Session* OrtApi::make_session(const std::string& model, int64_t threads,
                                      Optimisations optimisations) const {
  Options* options = nullptr;
  call(kCreateSessionOptions, &options);
  call(kSetGraphOptimizationLevel, options,
       optimisations == Optimisations::All ? kAllOptimisations : kNoOptimisations);
  call(kSetIntraOpThreads, options, static_cast<int>(threads));
  call(kSetInterOpThreads, options, 1);
  const auto release = [&] {
    reinterpret_cast<void (*)(Options*)>(functions_[kReleaseSessionOptions])(options);
  };
  Session* session = nullptr;
  try {
    call(kCreateSessionFromArray, static_cast<const Env*>(env_),
         static_cast<const void*>(model.data()), model.size(), static_cast<const Options*>(options),
         &session);
  } catch (...) {
    release();
    throw;
  }
  release();
  return session;
}

OrtApi::Value* OrtApi::make_tensor(void* data, size_t bytes, std::span<const int64_t> shape,
                                   int type) const {
  Value* value = nullptr;
  call(kCreateTensorWithData, static_cast<const Memory*>(memory_), data, bytes, shape.data(),
       shape.size(), type, &value);
  return value;
}

void OrtApi::run(Session* session, std::span<const char* const> input_names,
                 std::span<Value* const> inputs, const char* output_name, Value* output) const {
  Value* written = output;
  call(kRun, session, static_cast<const void*>(nullptr), input_names.data(), inputs.data(),
       inputs.size(), static_cast<const char* const*>(&output_name), size_t{1}, &written);
}

std::vector<OrtApi::Value*> OrtApi::run_all(Session* session,
                                            std::span<const char* const> input_names,
                                            std::span<Value* const> inputs,
                                            std::span<const char* const> output_names) const {
  std::vector<Value*> outputs(output_names.size(), nullptr);
  call(kRun, session, static_cast<const void*>(nullptr), input_names.data(), inputs.data(),
       inputs.size(), output_names.data(), output_names.size(), outputs.data());
  return outputs;
}

const void* OrtApi::data_of(Value* value) const {
  void* data = nullptr;
  call(kGetTensorData, value, &data);
  return data;
}

bool OrtApi::is_tensor(Value* value) const {
  int answer = 0;
  call(kIsTensor, static_cast<const Value*>(value), &answer);
  return answer != 0;
}

OrtApi::TensorInfo* OrtApi::info_of(Value* value) const {
  TensorInfo* info = nullptr;
  call(kGetTensorInfo, static_cast<const Value*>(value), &info);
  return info;
}

int OrtApi::type_of(Value* value) const {
  TensorInfo* info = info_of(value);
  int type = 0;
  call(kGetElementType, static_cast<const TensorInfo*>(info), &type);
  release(info);
  return type;
}

std::vector<int64_t> OrtApi::shape_of(Value* value) const {
  TensorInfo* info = info_of(value);
  size_t rank = 0;
  call(kGetDimensionsCount, static_cast<const TensorInfo*>(info), &rank);
  std::vector<int64_t> shape(rank);
  call(kGetDimensions, static_cast<const TensorInfo*>(info), shape.data(), rank);
  release(info);
  return shape;
}

void OrtApi::release(TensorInfo* info) const {
  reinterpret_cast<void (*)(TensorInfo*)>(functions_[kReleaseTensorInfo])(info);
}

void OrtApi::release(Session* session) const {
  reinterpret_cast<void (*)(Session*)>(functions_[kReleaseSession])(session);
}

void OrtApi::release(Value* value) const {
  reinterpret_cast<void (*)(Value*)>(functions_[kReleaseValue])(value);
}

} // namespace kawara::bench
