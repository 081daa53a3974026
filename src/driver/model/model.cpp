#include "driver/model/model.h"

#include "driver/model/evaluate_node.h"
#include "driver/model/rewriting.h"
#include "driver/model/runner.h"
#include "driver/pipeline.h"
#include "driver/tape/recordings.h"
#include "estimate/count.h"
#include "graph/errors.h"
#include "graph/narrow_floats.h"
#include "graph/onnx/import.h"
#include "graph/optimise/channels_last.h"
#include "graph/optimise/passes.h"
#include "program/interpret/values.h"
#include "run/file.h"
#include "run/measure.h"
#include "support/check.h"
#include "support/names_text.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

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
  if (type.elem && *type.elem != given.tensor.type()) {
    Diagnostic d = unusable_input(graph, value.name, given, type, "");
    if (const std::string in_numpy = scalar::numpy_name(graph::name_of(*type.elem));
        !in_numpy.empty())
      d.help = {
          {"convert it in NumPy", printable(value.name) + ".astype(np." + in_numpy + ")", false}};
    return d;
  }
  if (type.shape && type.shape->size() != shape.size())
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

Diagnostic wrong_name(const Graph& graph, std::string headline, const std::string& given = {}) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs)
    names.push_back(printable(graph.values[id].name));
  const auto meant = closest(given, names);
  return graph::model_error("K0520", std::move(headline), names_text("The model", "input", names),
                            meant ? "did you mean `" + *meant + "`?" : "");
}

Diagnostic out_of_memory(const Graph& graph) {
  return graph::model_error("K0522", "there is not enough memory to run `" + graph.name + "`",
                            "A tensor on the way is larger than what this machine has left.",
                            "give smaller inputs");
}

Diagnostic changed_file(const Graph& graph) {
  return graph::model_error("K0545",
                            "the file of `" + printable(graph.name) + "` is not what it was",
                            "Weights that were packed are read from the file again for inputs of "
                            "another shape, and are others there.",
                            "load the model again");
}

/// What no tape can hold runs on this machine only.
Diagnostic only_here(const Graph& graph, const Diagnostic& why) {
  Diagnostic d = graph::model_error("K0736", "`" + printable(graph.name) + "` cannot run on a GPU",
                                    "", "run it on the processor");
  d.body = why.body;
  return d;
}

/// Passes round otherwise than the nodes that they replace.
ModelOptions with_contract(ModelOptions options) {
  if (options.code.numerics != program::Numerics::Exact)
    return options;
  options.optimises = false;
  options.graph = {graph::optimise::AttentionUse::Never, false};
  options.images = ImageOrder::Written;
  return options;
}

/// Are the shapes of all inputs numbers?
bool has_one_shape(const Graph& graph) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [&](ValueId id) {
    const graph::ValueType& type = graph.values[id].type;
    return type.kind == graph::ValueType::Kind::Tensor && type.shape &&
           std::all_of(type.shape->begin(), type.shape->end(),
                       [](const graph::Dim& dim) { return dim.size.has_value(); });
  });
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
    out.int_ops = work->int_ops;
    out.bytes = work->compulsory_bytes;
  }
  return out;
}

/// Are there instructions for sums of products of bytes on this processor?
bool multiplies_bytes_fast() {
  using target::Feature;
  const target::Cpu cpu = target::detect_cpu();
  return cpu.features.has(Feature::AmxInt8) || cpu.features.has(Feature::Avx512vnni) ||
         cpu.features.has(Feature::I8mm) || cpu.features.has(Feature::Dotprod);
}

} // namespace

struct Model::Impl {
  Impl(Graph g, const ModelOptions& o)
      : options(with_contract(o)), kernels(o.cache_folder, o.progress, o.code),
        optimised(prepared(std::move(g))),
        runner(optimised.graph, kernels,
               PlanOptions{o.fuses, true,
                           o.read_again && (o.runs_once || has_one_shape(optimised.graph))}) {
    runner.restore_with([this] { return restore(); });
  }

  graph::optimise::Optimised prepared(Graph g) {
    graph::optimise::Optimised made{std::move(g), {}, {}};
    if (options.optimises && options.multiplies_bytes && multiplies_bytes_fast())
      made.graph = graph::optimise::multiply_bytes(std::move(made.graph));
    if (options.optimises)
      made = optimised_and_rewritten(std::move(made.graph), host_environment().cpu,
                                     evaluator(kernels), options.graph);
    // What was computed of constants on the way was computed in f32.
    if (options.floats != graph::DataType::F32)
      made.graph = graph::with_narrow_floats(std::move(made.graph), options.floats);
    if (options.images == ImageOrder::ChannelsLast)
      made.graph = graph::with_channels_last(std::move(made.graph));
    else if (options.images == ImageOrder::ByCost && options.optimises &&
             options.graph.chooses_layouts)
      choose_image_order(made, host_environment().cpu);
    return made;
  }

  /// Reads the weights again that were given back.
  Result<Done, Diagnostic> restore() {
    KAWARA_TRY(Graph again, options.read_again());
    const Graph fresh = prepared(std::move(again)).graph;
    for (auto& [id, tensor] : optimised.graph.initializers) {
      const auto at = fresh.initializers.find(id);
      if (at == fresh.initializers.end() || at->second.shape() != tensor.shape() ||
          at->second.type() != tensor.type())
        return fail(changed_file(optimised.graph));
      std::memcpy(tensor.data(), at->second.data(), static_cast<size_t>(tensor.bytes()));
    }
    return Done{};
  }

  ModelOptions options;
  Kernels kernels;
  graph::optimise::Optimised optimised;
  Runner runner;
  Recordings recordings;
  bool is_timed = false; ///< step by step, which tapes do not tell
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
const std::vector<std::string>& Model::notes() const { return impl_->optimised.notes; }
int64_t Model::from_cache() const { return impl_->kernels.from_cache(); }
void Model::use(KnownSchedule known) { impl_->kernels.use(std::move(known)); }
const std::map<std::string, int64_t>& Model::programs() const { return impl_->kernels.uses(); }
int64_t Model::kernels() const { return impl_->kernels.compiled(); }
std::vector<TextFamily> Model::sized_programs() const { return impl_->kernels.families(); }
std::vector<std::string> Model::proof_notes() const { return impl_->kernels.notes(); }
const Trace& Model::trace() const { return impl_->kernels.trace(); }
int64_t Model::in_tiles() const { return impl_->kernels.in_tiles(); }
double Model::compile_seconds() const { return impl_->kernels.seconds(); }
int64_t Model::block_bytes() const { return impl_->runner.block_bytes(); }

Result<Graph, Diagnostic> graph_from_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path, ignored)) {
    KAWARA_TRY([[maybe_unused]] const std::string bytes, run::read_file(path)); // says why
  }
  return graph::graph_from_onnx(stream, path, std::filesystem::path(path).parent_path().string());
}

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
      return fail(wrong_name(graph, "no input is called `" + printable(name) + "`", name));
  return data;
}

} // namespace

Result<std::vector<Datum>, Diagnostic> Model::run(const std::map<std::string, Datum>& inputs) {
  KAWARA_TRY(const std::vector<Datum> data, ordered_inputs(graph(), inputs));
  try {
    if (Player* player = impl_->is_timed ? nullptr : impl_->recordings.find(data)) {
      if (auto results = play(*player, data, impl_->runner.result_memory()))
        return results;
      // Shapes depend on elements, and these are others: that takes plans, now and henceforth.
      impl_->recordings.drop(data);
    }
    auto results = impl_->runner.run(data, {});
    if (results && impl_->recordings.add(data, graph(), impl_->runner.path()))
      impl_->runner.release_block();
    return results;
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
}

Result<std::vector<const Plan*>, Diagnostic> Model::plan(const std::map<std::string, Datum>& inputs,
                                                         bool in_place) {
  KAWARA_TRY(const std::vector<Datum> data, ordered_inputs(graph(), inputs));
  try {
    KAWARA_TRY([[maybe_unused]] const Done done, impl_->runner.plan(data, in_place));
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
  return impl_->runner.plans();
}

Result<Tape, Diagnostic> Model::tape_of_programs(const std::map<std::string, Datum>& inputs) {
  KAWARA_CHECK(!impl_->options.read_again, "a tape needs weights that may be gone");
  KAWARA_TRY([[maybe_unused]] const auto plans, plan(inputs, false));
  auto tape = tape_from_plans(graph(), impl_->runner.planned());
  if (!tape && tape.error().code == "K0563")
    return fail(only_here(graph(), tape.error()));
  return tape;
}

Result<ModelProfile, Diagnostic> Model::profile(const std::map<std::string, Datum>& inputs,
                                                int calls) {
  std::map<std::pair<const Plan*, size_t>, std::vector<double>> samples;
  std::vector<std::pair<const Plan*, size_t>> order;
  std::vector<double> whole, between;
  for (int call = 0; call < calls; ++call) {
    std::vector<Runner::StepTime> times;
    impl_->runner.time_steps(&times);
    impl_->is_timed = true;
    const auto begin = std::chrono::steady_clock::now();
    auto results = run(inputs);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    impl_->is_timed = false;
    impl_->runner.time_steps(nullptr);
    if (!results)
      return fail(std::move(results).error());
    whole.push_back(seconds.count());
    between.push_back(seconds.count());
    for (const Runner::StepTime& time : times) {
      if (std::holds_alternative<ViewStep>(time.plan->steps[time.step]))
        continue; // computes nothing
      auto& all = samples[{time.plan, time.step}];
      if (all.empty())
        order.emplace_back(time.plan, time.step);
      all.push_back(time.seconds);
      between.back() -= time.seconds;
    }
  }
  ModelProfile out;
  const auto median = [](std::vector<double> all) {
    return run::summarise(std::move(all), 1).median;
  };
  out.seconds = median(std::move(whole));
  out.between = median(std::move(between));
  for (const auto& at : order) {
    out.steps.push_back(profile_of(graph(), *at.first, at.first->steps[at.second]));
    out.steps.back().seconds = median(std::move(samples[at]));
  }
  return out;
}

Result<Tape, Diagnostic> Model::record(std::map<std::string, Datum> given,
                                       const InputSizes& sizes) {
  KAWARA_CHECK(!impl_->options.read_again, "a tape needs weights that may be gone");
  KAWARA_TRY(const auto inputs, inputs_for(std::move(given), sizes));
  KAWARA_TRY(std::vector<Datum> data, ordered_inputs(graph(), inputs));
  try {
    // Steps whose operands are constants prepare them in this run.
    KAWARA_TRY([[maybe_unused]] const auto results, impl_->runner.run(std::move(data), {}));
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
  return tape_from_plans(graph(), impl_->runner.path());
}

Result<std::map<std::string, Datum>, Diagnostic>
Model::inputs_for(std::map<std::string, Datum> given, const InputSizes& sizes) const {
  KAWARA_TRY(const auto shapes, shapes_of_inputs(graph(), given, sizes));
  uint64_t seed = 1;
  try {
    for (const ValueId id : graph().inputs) {
      const graph::Value& value = graph().values[id];
      ++seed;
      if (const auto at = shapes.find(value.name); at != shapes.end())
        given[value.name] = {pattern_tensor(*value.type.elem, at->second, seed), false, {}};
    }
  } catch (const std::bad_alloc&) {
    return fail(out_of_memory(graph()));
  }
  return given;
}

std::map<std::string, Datum>
Model::pattern_inputs(std::map<std::string, Datum> given,
                      const std::map<std::string, int64_t>& symbols) const {
  auto inputs = inputs_for(std::move(given), {symbols, {}});
  KAWARA_CHECK(inputs, "all sizes are known: " + inputs.error().headline);
  return *std::move(inputs);
}

Tensor pattern_tensor(graph::DataType type, const Shape& shape, uint64_t seed) {
  Tensor tensor(type, shape); // throws where there is no memory
  const program::Array array = program::fill_pattern(graph::storage_of(type), shape, seed);
  std::memcpy(tensor.data(), array.data(), array.bytes());
  if (type == graph::DataType::I64 || type == graph::DataType::I32)
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_int(k, tensor.get_int(k) & 1);
  return tensor;
}

Result<Model, Diagnostic> load_model(const std::string& path, const ModelOptions& options) {
  KAWARA_TRY(Graph imported, graph_from_file(path));
  if (options.floats != graph::DataType::F32)
    if (auto problem = graph::refuse_narrow_floats(imported, options.floats))
      return fail(*std::move(problem));
  return Model(std::move(imported), options);
}

Result<Model, Diagnostic> load_model_to_run(const std::string& path, ModelOptions options) {
  options.read_again = [path] { return graph_from_file(path); };
  return load_model(path, options);
}

} // namespace kawara::driver
