#pragma once

#include "cpu/peers/shared_library.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kawara::bench {

/// The few functions of ONNX Runtime's C interface that a session needs. The library hands out one
/// table of functions whose order never changes; a function is found by its place in it.
class OrtApi {
public:
  struct Env;
  struct Status;
  struct Options;
  struct Session;
  struct Memory;
  struct Value;
  struct TensorInfo;

  /// How far a session rewrites its graph before it runs.
  enum class Optimisations : uint8_t { None, All };
  /// What the library writes to standard error on its own.
  enum class Log : uint8_t { Errors, Nothing };

  /// Throws when the library is too old.
  explicit OrtApi(const SharedLibrary&, Log = Log::Errors);

  const char* version() const { return version_; }

  Session* make_session(const std::string& model, int64_t threads,
                        Optimisations = Optimisations::All) const;
  /// A tensor over the caller's memory. `type` is the number that ONNX files use.
  Value* make_tensor(void* data, size_t bytes, std::span<const int64_t> shape, int type) const;
  /// Reads inputs and writes outputs that `make_tensor` made.
  void run(Session*, std::span<const char* const> input_names, std::span<Value* const> inputs,
           const char* output_name, Value* output) const;
  /// Reads inputs that `make_tensor` made; the results are ONNX Runtime's own, to be released.
  std::vector<Value*> run_all(Session*, std::span<const char* const> input_names,
                              std::span<Value* const> inputs,
                              std::span<const char* const> output_names) const;
  const void* data_of(Value*) const;
  bool is_tensor(Value*) const;
  /// Of a tensor: the number that ONNX files use for its type, and its extents.
  int type_of(Value*) const;
  std::vector<int64_t> shape_of(Value*) const;
  void release(Session*) const;
  void release(Value*) const;

private:
  TensorInfo* info_of(Value*) const; ///< to be released
  void release(TensorInfo*) const;
  template <class... Arguments> void call(int place, Arguments... arguments) const;

  void* const* functions_ = nullptr;
  const char* version_ = "";
  Env* env_ = nullptr;
  Memory* memory_ = nullptr;
};

} // namespace kawara::bench
