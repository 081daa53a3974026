#include "driver/model.h"

#include "driver/runner.h"
#include "graph/errors.h"
#include "graph/onnx/import.h"
#include "program/values.h"
#include "run/file.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace kawara::driver {
namespace {

using graph::Graph;

Diagnostic unusable_input(const Graph& graph, const std::string& name, const Datum& given,
                          const graph::ValueType& type, const std::string& why) {
  return graph::model_error(
      "K0521", fmt::format("input `{}` of `{}` cannot be {}", name, graph.name, text_of(given)),
      fmt::format("It is declared as {}{}.", graph::text_of(type), why), "");
}

/// Does the value fit its declaration? Symbols stand for one size throughout the model.
std::optional<Diagnostic> check_input(const Graph& graph, ValueId id, const Datum& given,
                                      std::map<std::string, int64_t>& symbols) {
  const graph::Value& value = graph.values[id];
  const graph::ValueType& type = value.type;
  if (given.is_sequence || !given.tensor)
    return std::nullopt;
  const Shape& shape = given.tensor.shape();
  const bool has_type = !type.elem || *type.elem == given.tensor.type();
  if (!has_type || (type.shape && type.shape->size() != shape.size()))
    return unusable_input(graph, value.name, given, type, "");
  for (size_t k = 0; type.shape && k < shape.size(); ++k) {
    const graph::Dim& dim = (*type.shape)[k];
    if (dim.size && *dim.size != shape[k])
      return unusable_input(graph, value.name, given, type, "");
    if (dim.size || dim.symbol.empty())
      continue;
    const auto [at, is_new] = symbols.emplace(dim.symbol, shape[k]);
    if (!is_new && at->second != shape[k])
      return unusable_input(
          graph, value.name, given, type,
          fmt::format(", and `{}` is {} in another input", printable(dim.symbol), at->second));
  }
  return std::nullopt;
}

Diagnostic wrong_name(const Graph& graph, std::string headline) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs)
    names.push_back(printable(graph.values[id].name));
  return graph::model_error(
      "K0520", std::move(headline),
      "The model's inputs are " + (names.empty() ? "none" : join(names, ", ")) + ".", "");
}

Diagnostic out_of_memory(const Graph& graph) {
  return graph::model_error("K0522", "there is not enough memory to run `" + graph.name + "`",
                            "A tensor on the way is larger than what this machine has left.",
                            "give smaller inputs");
}

/// Refuses symbols that no input has, and sizes that they cannot have.
std::optional<Diagnostic> check_symbols(const Graph& graph,
                                        const std::map<std::string, int64_t>& symbols) {
  std::vector<std::string> known;
  for (const ValueId id : graph.inputs)
    if (graph.values[id].type.shape)
      for (const graph::Dim& dim : *graph.values[id].type.shape)
        if (!dim.size && !dim.symbol.empty() &&
            std::find(known.begin(), known.end(), dim.symbol) == known.end())
          known.push_back(dim.symbol);
  for (const auto& [name, size] : symbols) {
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
    if (is_known && size >= 0)
      continue;
    return graph::model_error(
        "K0569",
        fmt::format("`{}` cannot have {} = {}", printable(graph.name), printable(name), size),
        is_known ? "A size is not negative."
        : known.empty()
            ? "The shapes of its inputs have no symbols."
            : "The symbols of its inputs' shapes are " + printable(join(known, ", ")) + ".",
        "");
  }
  return std::nullopt;
}

} // namespace

struct Model::Impl {
  explicit Impl(Graph g) : graph(std::move(g)), runner(graph, kernels) {}
  Graph graph;
  Kernels kernels;
  Runner runner;
};

Model::Model(Graph graph) : impl_(std::make_unique<Impl>(std::move(graph))) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const Graph& Model::graph() const { return impl_->graph; }
void Model::use(KnownSchedule known) { impl_->kernels.use(std::move(known)); }
const std::map<std::string, int64_t>& Model::programs() const { return impl_->kernels.uses(); }
int64_t Model::kernels() const { return impl_->kernels.compiled(); }
double Model::compile_seconds() const { return impl_->kernels.seconds(); }
int64_t Model::block_bytes() const { return impl_->runner.block_bytes(); }

Result<std::vector<Datum>, Diagnostic> Model::run(const std::map<std::string, Datum>& inputs) {
  const Graph& graph = impl_->graph;
  std::vector<Datum> data;
  std::map<std::string, int64_t> symbols;
  for (const ValueId id : graph.inputs) {
    const auto at = inputs.find(graph.values[id].name);
    if (at == inputs.end())
      return fail(
          wrong_name(graph, "input `" + printable(graph.values[id].name) + "` is not given"));
    if (auto problem = check_input(graph, id, at->second, symbols))
      return fail(*std::move(problem));
    data.push_back(at->second);
  }
  for (const auto& [name, datum] : inputs)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(),
                     [&, &n = name](ValueId id) { return graph.values[id].name == n; }))
      return fail(wrong_name(graph, "no input is called `" + printable(name) + "`"));
  try {
    return impl_->runner.run(std::move(data), {});
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph));
  }
}

Result<Tape, Diagnostic> Model::record(std::map<std::string, Datum> given,
                                       const std::map<std::string, int64_t>& symbols) {
  if (auto problem = check_symbols(impl_->graph, symbols))
    return fail(*std::move(problem));
  std::map<std::string, Datum> inputs;
  try {
    inputs = pattern_inputs(std::move(given), symbols);
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(impl_->graph));
  }
  // Steps whose operands are constants prepare them in this run.
  KAWARA_TRY([[maybe_unused]] const std::vector<Datum> results, run(inputs));
  return tape_from_plans(impl_->graph, impl_->runner.path());
}

std::map<std::string, Datum>
Model::pattern_inputs(std::map<std::string, Datum> given,
                      const std::map<std::string, int64_t>& symbols) const {
  uint64_t seed = 1;
  for (const ValueId id : impl_->graph.inputs) {
    const graph::Value& value = impl_->graph.values[id];
    ++seed;
    if (given.count(value.name) || value.type.kind != graph::ValueType::Kind::Tensor ||
        !value.type.elem)
      continue;
    Shape shape;
    if (value.type.shape)
      for (const graph::Dim& dim : *value.type.shape)
        shape.push_back(dim.size                    ? *dim.size
                        : symbols.count(dim.symbol) ? symbols.at(dim.symbol)
                                                    : 1);
    given[value.name] = {pattern_tensor(*value.type.elem, shape, seed), false, {}};
  }
  return given;
}

Tensor pattern_tensor(graph::DataType type, const Shape& shape, uint64_t seed) {
  Tensor tensor(type, shape); // throws where there is no memory
  const program::Array array = program::fill_pattern(graph::storage_of(type), shape, seed);
  std::memcpy(tensor.data(), array.data(), array.bytes());
  if (type == graph::DataType::I64 || type == graph::DataType::I32)
    for (int64_t k = 0; k < tensor.cells(); ++k)
      tensor.set_int(k, tensor.get_int(k) & 1);
  return tensor;
}

Result<Model, Diagnostic> load_model(const std::string& path) {
  KAWARA_TRY(const std::string bytes, run::read_file(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  KAWARA_TRY(Graph graph, graph::graph_from_onnx(bytes, path, folder));
  return Model(std::move(graph));
}

} // namespace kawara::driver
