#include "driver/model.h"

#include "driver/evaluate_node.h"
#include "driver/runner.h"
#include "estimate/count.h"
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

/// Nodes and work of a step; without operators for one that computes nothing.
StepProfile profile_of(const Graph& graph, const Plan& plan, const Step& step) {
  StepProfile out;
  if (const auto* call = std::get_if<CallStep>(&step)) {
    out.nodes = graph.nodes[call->node].name;
    out.ops = graph.nodes[call->node].op;
  }
  if (const auto* join = std::get_if<JoinStep>(&step)) {
    out.nodes = graph.nodes[join->node].name;
    out.ops = graph.nodes[join->node].op;
  }
  const auto* kernel = std::get_if<KernelStep>(&step);
  if (!kernel)
    return out;
  const KernelGroup& group = plan.groups[kernel->group];
  std::vector<std::string> ops;
  for (const size_t node : group.nodes)
    ops.push_back(graph.nodes[node].op);
  out.nodes = graph.nodes[group.nodes.front()].name;
  if (group.nodes.size() > 1)
    out.nodes += fmt::format(" and {} more", group.nodes.size() - 1);
  out.ops = join(ops, " + ");
  const auto program = program::parse(make_source("group.kw", group.program));
  const auto work = program ? estimate::count(*program, {})
                            : Result<estimate::Work, Diagnostic>(estimate::Work{});
  if (work) {
    out.flops = work->flops;
    out.bytes = work->compulsory_bytes;
  }
  return out;
}

} // namespace

struct Model::Impl {
  Impl(Graph g, const ModelOptions& options)
      : kernels(options.cache_folder, options.progress), optimised(prepared(std::move(g), options)),
        runner(optimised.graph, kernels, PlanOptions{options.fuses, true}) {}

  graph::optimise::Optimised prepared(Graph g, const ModelOptions& options) {
    if (!options.optimises)
      return {std::move(g), {}};
    return graph::optimise::optimise(std::move(g), evaluator(kernels));
  }

  Kernels kernels;
  graph::optimise::Optimised optimised;
  Runner runner;
};

Model::Model(Graph graph, const ModelOptions& options)
    : impl_(std::make_unique<Impl>(std::move(graph), options)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const Graph& Model::graph() const { return impl_->optimised.graph; }
const std::vector<graph::optimise::PassResult>& Model::passes() const {
  return impl_->optimised.passes;
}
int64_t Model::from_cache() const { return impl_->kernels.from_cache(); }
void Model::use(KnownSchedule known) { impl_->kernels.use(std::move(known)); }
const std::map<std::string, int64_t>& Model::programs() const { return impl_->kernels.uses(); }
int64_t Model::kernels() const { return impl_->kernels.compiled(); }
double Model::compile_seconds() const { return impl_->kernels.seconds(); }
int64_t Model::block_bytes() const { return impl_->runner.block_bytes(); }

namespace {

/// The inputs in the graph's order, checked.
Result<std::vector<Datum>, Diagnostic> ordered_inputs(const Graph& graph,
                                                      const std::map<std::string, Datum>& inputs) {
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
  return data;
}

} // namespace

Result<std::vector<Datum>, Diagnostic> Model::run(const std::map<std::string, Datum>& inputs) {
  KAWARA_TRY(std::vector<Datum> data, ordered_inputs(graph(), inputs));
  try {
    return impl_->runner.run(std::move(data), {});
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
}

Result<std::vector<const Plan*>, Diagnostic>
Model::plan(const std::map<std::string, Datum>& inputs) {
  KAWARA_TRY(const std::vector<Datum> data, ordered_inputs(graph(), inputs));
  try {
    KAWARA_TRY([[maybe_unused]] const Done done, impl_->runner.plan(data));
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
  return impl_->runner.plans();
}

Result<std::vector<StepProfile>, Diagnostic>
Model::profile(const std::map<std::string, Datum>& inputs, int calls) {
  std::map<std::pair<const Plan*, size_t>, std::vector<double>> samples;
  std::vector<std::pair<const Plan*, size_t>> order;
  for (int call = 0; call < calls; ++call) {
    std::vector<Runner::StepTime> times;
    impl_->runner.time_steps(&times);
    auto results = run(inputs);
    impl_->runner.time_steps(nullptr);
    if (!results)
      return fail(std::move(results).error());
    for (const Runner::StepTime& time : times) {
      auto& all = samples[{time.plan, time.step}];
      if (all.empty())
        order.emplace_back(time.plan, time.step);
      all.push_back(time.seconds);
    }
  }
  std::vector<StepProfile> out;
  for (const auto& at : order) {
    auto& all = samples[at];
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2),
                     all.end());
    StepProfile step = profile_of(graph(), *at.first, at.first->steps[at.second]);
    step.seconds = all[all.size() / 2];
    if (!step.ops.empty())
      out.push_back(std::move(step));
  }
  return out;
}

Result<Tape, Diagnostic> Model::record(std::map<std::string, Datum> given,
                                       const std::map<std::string, int64_t>& symbols) {
  if (auto problem = check_symbols(graph(), symbols))
    return fail(*std::move(problem));
  std::map<std::string, Datum> inputs;
  try {
    inputs = pattern_inputs(std::move(given), symbols);
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
  // Steps whose operands are constants prepare them in this run.
  KAWARA_TRY([[maybe_unused]] const std::vector<Datum> results, run(inputs));
  return tape_from_plans(graph(), impl_->runner.path());
}

std::map<std::string, Datum>
Model::pattern_inputs(std::map<std::string, Datum> given,
                      const std::map<std::string, int64_t>& symbols) const {
  uint64_t seed = 1;
  for (const ValueId id : graph().inputs) {
    const graph::Value& value = graph().values[id];
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

Result<Model, Diagnostic> load_model(const std::string& path, const ModelOptions& options) {
  KAWARA_TRY(const std::string bytes, run::read_file(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  KAWARA_TRY(Graph imported, graph::graph_from_onnx(bytes, path, folder));
  return Model(std::move(imported), options);
}

} // namespace kawara::driver
