#pragma once

#include "driver/model/model.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kawara::tools {

/// A session of ONNX Runtime on a model file, for comparing.
class OnnxRuntime {
public:
  struct Impl;
  explicit OnnxRuntime(std::unique_ptr<Impl> impl);
  OnnxRuntime(OnnxRuntime&&) noexcept;
  ~OnnxRuntime();

  const char* version() const;
  void run() const;
  /// Results of the last run; nothing for one that is no tensor of a type that Kawara has.
  std::vector<std::optional<run::Datum>> results() const;

private:
  std::unique_ptr<Impl> impl_;
};

/// Is its library there? Refuses where it is not (K0540).
Result<Done, Diagnostic> require_onnxruntime(const std::string& folder);

/// Opens libonnxruntime.so.1 from the folder, or where the system finds it, and makes a session
/// with all optimisations. Refuses where there is none, or where it refuses the model (K0540).
Result<OnnxRuntime, Diagnostic>
open_onnxruntime(const std::string& folder, const std::string& model, const graph::Graph& graph,
                 const std::map<std::string, run::Datum>& inputs, int64_t threads);

} // namespace kawara::tools
