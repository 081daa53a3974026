#include "kawara/onnxruntime.h"

#include "cpu/peers/ort_api.h"
#include "run/file.h"

#include <fmt/format.h>

namespace kawara::tools {
namespace {

Diagnostic no_onnxruntime(const std::string& headline, const std::string& why,
                          const std::string& help) {
  Diagnostic d;
  d.code = "K0540";
  d.headline = headline;
  d.body.push_back(why);
  d.help.push_back({"", help, false});
  return d;
}

/// ONNX's number of an element type.
int onnx_number(graph::DataType type) {
  using enum graph::DataType;
  switch (type) {
  case F32:
    return 1;
  case U8:
    return 2;
  case I8:
    return 3;
  case U16:
    return 4;
  case I16:
    return 5;
  case I32:
    return 6;
  case I64:
    return 7;
  case Bool:
    return 9;
  case F16:
    return 10;
  case F64:
    return 11;
  case U32:
    return 12;
  case U64:
    return 13;
  case BF16:
    return 16;
  }
  return 0;
}

} // namespace

struct OnnxRuntime::Impl {
  explicit Impl(const bench::SharedLibrary& library) : api(library) {}
  ~Impl() {
    forget();
    for (bench::OrtApi::Value* value : inputs)
      api.release(value);
    if (session)
      api.release(session);
  }
  void forget() {
    for (bench::OrtApi::Value* value : outputs)
      api.release(value);
    outputs.clear();
  }

  bench::OrtApi api;
  bench::OrtApi::Session* session = nullptr;
  std::vector<run::Tensor> memory; ///< of the inputs
  std::vector<std::string> names;
  std::vector<const char*> input_names, output_names;
  std::vector<bench::OrtApi::Value*> inputs, outputs;
  std::vector<const void*> cells;
};

OnnxRuntime::OnnxRuntime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OnnxRuntime::OnnxRuntime(OnnxRuntime&&) noexcept = default;
OnnxRuntime::~OnnxRuntime() = default;
const char* OnnxRuntime::version() const { return impl_->api.version(); }
const std::vector<const void*>& OnnxRuntime::results() const { return impl_->cells; }

void OnnxRuntime::run() const {
  impl_->forget();
  impl_->outputs =
      impl_->api.run_all(impl_->session, impl_->input_names, impl_->inputs, impl_->output_names);
  impl_->cells.clear();
  for (bench::OrtApi::Value* value : impl_->outputs)
    impl_->cells.push_back(impl_->api.data_of(value));
}

Result<Done, Diagnostic> require_onnxruntime(const std::string& folder) {
  if (bench::SharedLibrary::open(folder, "libonnxruntime.so.1"))
    return Done{};
  return fail(no_onnxruntime(
      "there is no ONNX Runtime to compare with",
      "libonnxruntime.so.1 is neither in the folder of --peers nor where the system looks.",
      "get it with `tools/fetch_onnxruntime.sh aarch64 FOLDER` (or x86_64) and add --peers "
      "FOLDER"));
}

Result<OnnxRuntime, Diagnostic>
open_onnxruntime(const std::string& folder, const std::string& model, const graph::Graph& graph,
                 const std::map<std::string, run::Datum>& inputs, int64_t threads) {
  KAWARA_TRY([[maybe_unused]] const Done done, require_onnxruntime(folder));
  const auto library = bench::SharedLibrary::open(folder, "libonnxruntime.so.1");
  KAWARA_TRY(const std::string bytes, run::read_file(model));
  try {
    auto impl = std::make_unique<OnnxRuntime::Impl>(*library);
    impl->session = impl->api.make_session(bytes, threads);
    for (const graph::ValueId id : graph.inputs)
      impl->names.push_back(graph.values[id].name);
    for (const graph::ValueId id : graph.outputs)
      impl->names.push_back(graph.values[id].name);
    for (size_t k = 0; k < impl->names.size(); ++k)
      (k < graph.inputs.size() ? impl->input_names : impl->output_names)
          .push_back(impl->names[k].c_str());
    for (const graph::ValueId id : graph.inputs) {
      run::Tensor tensor = inputs.at(graph.values[id].name).tensor;
      impl->inputs.push_back(impl->api.make_tensor(tensor.data(),
                                                   static_cast<size_t>(tensor.bytes()),
                                                   tensor.shape(), onnx_number(tensor.type())));
      impl->memory.push_back(std::move(tensor));
    }
    OnnxRuntime session(std::move(impl));
    session.run();
    return session;
  } catch (const std::runtime_error& error) {
    return fail(no_onnxruntime("ONNX Runtime does not run this model", error.what(),
                               "measure without --against"));
  }
}

} // namespace kawara::tools
