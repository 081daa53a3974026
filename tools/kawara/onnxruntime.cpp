#include "kawara/onnxruntime.h"

#include "cpu/peers/ort_api.h"
#include "run/file.h"

#include <fmt/format.h>

#include <cstring>

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

/// ONNX's numbers of element types.
constexpr std::pair<graph::DataType, int> kNumbers[] = {
    {graph::DataType::F32, 1},  {graph::DataType::U8, 2},   {graph::DataType::I8, 3},
    {graph::DataType::U16, 4},  {graph::DataType::I16, 5},  {graph::DataType::I32, 6},
    {graph::DataType::I64, 7},  {graph::DataType::Bool, 9}, {graph::DataType::F16, 10},
    {graph::DataType::F64, 11}, {graph::DataType::U32, 12}, {graph::DataType::U64, 13},
    {graph::DataType::BF16, 16}};

int onnx_number(graph::DataType type) {
  for (const auto& [each, number] : kNumbers)
    if (each == type)
      return number;
  return 0;
}

std::optional<graph::DataType> type_from_number(int number) {
  for (const auto& [type, each] : kNumbers)
    if (each == number)
      return type;
  return std::nullopt;
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
};

OnnxRuntime::OnnxRuntime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OnnxRuntime::OnnxRuntime(OnnxRuntime&&) noexcept = default;
OnnxRuntime::~OnnxRuntime() = default;
const char* OnnxRuntime::version() const { return impl_->api.version(); }

std::vector<std::optional<run::Datum>> OnnxRuntime::results() const {
  std::vector<std::optional<run::Datum>> all;
  for (bench::OrtApi::Value* value : impl_->outputs) {
    const auto type =
        impl_->api.is_tensor(value) ? type_from_number(impl_->api.type_of(value)) : std::nullopt;
    all.emplace_back();
    if (!type)
      continue;
    run::Tensor tensor(*type, impl_->api.shape_of(value));
    if (tensor.bytes() > 0)
      std::memcpy(tensor.data(), impl_->api.data_of(value), static_cast<size_t>(tensor.bytes()));
    all.back() = run::Datum{std::move(tensor), false, {}};
  }
  return all;
}

void OnnxRuntime::run() const {
  impl_->forget();
  impl_->outputs =
      impl_->api.run_all(impl_->session, impl_->input_names, impl_->inputs, impl_->output_names);
}

Result<Done, Diagnostic> require_onnxruntime(const std::string& folder) {
  if (bench::SharedLibrary::open(folder, "libonnxruntime.so.1"))
    return Done{};
  return fail(no_onnxruntime(
      "there is no ONNX Runtime to compare with",
      "libonnxruntime.so.1 is neither in the folder of --peers nor where the system looks.",
      "get it with `tools/fetch_onnxruntime.sh $(uname -m) FOLDER` and add --peers FOLDER"));
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
