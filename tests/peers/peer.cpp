#include "peers/peer.h"

#include "graph/onnx/export.h"

#include <cstring>
#include <filesystem>

namespace kawara::peers {
namespace {

using bench::OrtApi;

/// The numbers that ONNX files use for element types.
constexpr std::pair<graph::DataType, int> kPeerTypes[] = {
    {graph::DataType::F32, 1},  {graph::DataType::U8, 2},   {graph::DataType::I8, 3},
    {graph::DataType::U16, 4},  {graph::DataType::I16, 5},  {graph::DataType::I32, 6},
    {graph::DataType::I64, 7},  {graph::DataType::Bool, 9}, {graph::DataType::F16, 10},
    {graph::DataType::F64, 11}, {graph::DataType::U32, 12}, {graph::DataType::U64, 13},
    {graph::DataType::BF16, 16}};

/// Values of one call, released at its end.
struct Values {
  const OrtApi& api;
  std::vector<OrtApi::Value*> all;
  ~Values() {
    for (OrtApi::Value* value : all)
      if (value != nullptr)
        api.release(value);
  }
};

OrtApi::Value* given(const OrtApi& api, graph::Tensor tensor) {
  for (const auto& [type, number] : kPeerTypes)
    if (type == tensor.type())
      return api.make_tensor(tensor.data(), static_cast<size_t>(tensor.bytes()), tensor.shape(),
                             number);
  throw std::runtime_error("an input's type has no number");
}

Datum taken(const OrtApi& api, OrtApi::Value* value) {
  if (value == nullptr || !api.is_tensor(value))
    throw std::runtime_error("an output is no tensor");
  const int number = api.type_of(value);
  for (const auto& [type, each] : kPeerTypes) {
    if (each != number)
      continue;
    graph::Tensor tensor(type, api.shape_of(value));
    if (tensor.bytes() > 0)
      std::memcpy(tensor.data(), api.data_of(value), static_cast<size_t>(tensor.bytes()));
    return {std::move(tensor), false, {}};
  }
  throw std::runtime_error("an output has a type that Kawara does not have");
}

std::vector<const char*> pointers(const std::vector<std::string>& names) {
  std::vector<const char*> all;
  for (const std::string& name : names)
    all.push_back(name.c_str());
  return all;
}

} // namespace

PeerSession::PeerSession(const OrtApi& api, const Graph& graph, const std::string& bytes)
    : api_(api), session_(api.make_session(bytes, 1, OrtApi::Optimisations::None)) {
  for (const graph::ValueId id : graph.inputs)
    input_names_.push_back(graph.values[id].name);
  for (const graph::ValueId id : graph.outputs)
    output_names_.push_back(graph.values[id].name);
}

PeerSession::~PeerSession() { api_.release(session_); }

Result<std::vector<Datum>, Refusal> PeerSession::run(const std::vector<Datum>& inputs) const {
  try {
    Values reads{api_, {}}, writes{api_, {}};
    for (const Datum& input : inputs)
      reads.all.push_back(given(api_, input.tensor));
    writes.all = api_.run_all(session_, pointers(input_names_), reads.all, pointers(output_names_));
    std::vector<Datum> results;
    for (OrtApi::Value* value : writes.all)
      results.push_back(taken(api_, value));
    return results;
  } catch (const std::runtime_error& error) {
    return fail(Refusal(error.what()));
  }
}

Peer::Peer(const bench::SharedLibrary& library) : api_(library, OrtApi::Log::Nothing) {}

std::unique_ptr<Peer> Peer::open(const std::string& folder) {
  if (!std::filesystem::exists(folder + "/libonnxruntime.so.1"))
    return nullptr;
  const auto library = bench::SharedLibrary::open(folder, "libonnxruntime.so.1");
  return library ? std::unique_ptr<Peer>(new Peer(*library)) : nullptr;
}

Result<std::unique_ptr<PeerSession>, Refusal> Peer::session(const Graph& graph) const {
  const auto bytes = graph::onnx_from_graph(graph);
  if (!bytes)
    return fail(Refusal(bytes.error().headline));
  try {
    return std::make_unique<PeerSession>(api_, graph, *bytes);
  } catch (const std::runtime_error& error) {
    return fail(Refusal(error.what()));
  }
}

} // namespace kawara::peers
