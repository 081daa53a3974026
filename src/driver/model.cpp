#include "driver/model.h"

#include "driver/control_flow.h"
#include "driver/plan.h"
#include "graph/errors.h"
#include "graph/onnx/import.h"
#include "program/values.h"
#include "run/file.h"
#include "support/text.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

namespace kawara::driver {
namespace {

using graph::Graph;
using graph::GraphPtr;
using graph::Node;

Info info_of(const Datum& datum) {
  Info info;
  info.is_known = true;
  info.is_sequence = datum.is_sequence;
  if (!datum.is_sequence && datum.tensor) {
    info.type = datum.tensor.type();
    info.shape = datum.tensor.shape();
  }
  return info;
}

/// What a plan depends on: types and shapes, or cells.
void add_key(std::string& key, const Datum& datum, bool with_cells) {
  const auto add = [&](const Tensor& tensor) {
    key += static_cast<char>('a' + static_cast<int>(tensor.type()));
    for (const int64_t extent : tensor.shape())
      key += std::to_string(extent) + ",";
    if (with_cells && tensor)
      key.append(reinterpret_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.bytes()));
    key += ';';
  };
  if (datum.is_sequence)
    key += "[]";
  else
    add(datum.tensor);
}

/// Runs one graph; the subgraphs of its nodes by runners of their own.
class Runner {
public:
  Runner(const Graph& graph, Kernels& kernels) : graph_(graph), kernels_(kernels) {}

  Result<std::vector<Datum>, Diagnostic> run(std::vector<Datum> inputs,
                                             std::vector<Datum> captured) {
    std::vector<Datum> data(graph_.values.size());
    std::string key;
    for (size_t k = 0; k < inputs.size(); ++k) {
      add_key(key, inputs[k], false);
      data[graph_.inputs[k]] = std::move(inputs[k]);
    }
    for (size_t k = 0; k < captured.size(); ++k) {
      add_key(key, captured[k], false);
      data[graph_.captures[k].inner] = std::move(captured[k]);
    }
    std::unique_ptr<Plan>* plan = &plans_[key];
    if (!*plan) {
      KAWARA_TRY(*plan, make_plan(graph_, 0, first_infos(data), kernels_));
    }
    while (true) {
      KAWARA_TRY([[maybe_unused]] const Done done, run(**plan, data));
      if ((*plan)->asked.empty())
        break;
      std::string next;
      for (const ValueId id : (*plan)->asked)
        add_key(next, data[id], (*plan)->asks_for_cells);
      std::unique_ptr<Plan>& follower = (*plan)->next[next];
      if (!follower) {
        KAWARA_TRY(follower, make_plan(graph_, (*plan)->end, next_infos(**plan, data), kernels_));
      }
      plan = &follower;
    }
    return results(**plan, data);
  }

  int64_t block_bytes() const {
    int64_t bytes = 0;
    for (const auto& [key, plan] : plans_)
      for (const Plan* p = plan.get(); p;
           p = p->next.empty() ? nullptr : p->next.begin()->second.get())
        bytes = std::max(bytes, p->block_bytes);
    return bytes;
  }

private:
  std::vector<Info> first_infos(const std::vector<Datum>& data) const {
    std::vector<Info> infos(graph_.values.size());
    for (const ValueId id : graph_.inputs)
      infos[id] = info_of(data[id]);
    for (const graph::Capture& capture : graph_.captures)
      infos[capture.inner] = info_of(data[capture.inner]);
    for (const auto& [id, tensor] : graph_.initializers) {
      infos[id] = info_of({tensor, false, {}});
      infos[id].constant = tensor;
    }
    return infos;
  }

  std::vector<Info> next_infos(const Plan& plan, const std::vector<Datum>& data) const {
    std::vector<Info> infos = plan.infos;
    for (const ValueId id : plan.asked) {
      infos[id] = info_of(data[id]);
      if (plan.asks_for_cells && !data[id].is_sequence)
        infos[id].constant = run::copy_of(data[id].tensor);
    }
    return infos;
  }

  Result<Done, Diagnostic> run(Plan& plan, std::vector<Datum>& data) {
    for (size_t id = 0; id < plan.infos.size(); ++id)
      if (plan.infos[id].constant)
        data[id] = {plan.infos[id].constant, false, {}};
    if (plan.block_bytes > 0 && !plan.block)
      plan.block = graph::make_memory(plan.block_bytes);
    for (const Step& step : plan.steps) {
      if (const auto* view = std::get_if<ViewStep>(&step)) {
        const Info& info = plan.infos[view->result];
        data[view->result] = {
            data[view->operand].tensor.with_type(info.type).with_shape(info.shape), false, {}};
      } else if (const auto* kernel = std::get_if<KernelStep>(&step)) {
        KAWARA_TRY([[maybe_unused]] const Done done, run(plan, *kernel, data));
      } else {
        KAWARA_TRY([[maybe_unused]] const Done done,
                   call(graph_.nodes[std::get<CallStep>(step).node], data));
      }
    }
    return Done{};
  }

  Tensor memory_of(Plan& plan, ValueId id, const Info& info) const {
    const auto at = plan.places.find(id);
    if (at == plan.places.end())
      return Tensor(info.type, info.shape);
    return Tensor(info.type, info.shape,
                  std::shared_ptr<std::byte>(plan.block, plan.block.get() + at->second.offset));
  }

  Result<Done, Diagnostic> run(Plan& plan, const KernelStep& step, std::vector<Datum>& data) const {
    std::vector<void*> pointers;
    size_t operand = 0, result = 0;
    std::vector<Tensor> unused;
    for (const emit::BufferInfo& argument : step.code->signature().arguments) {
      if (argument.name[0] == 'X') {
        pointers.push_back(data[step.operands[operand++]].tensor.data());
        continue;
      }
      const ValueId id = step.results[result++];
      if (id == graph::kAbsent) { // computed, though nobody reads it
        const auto bytes = emit::bytes_of(argument, {});
        unused.emplace_back(graph::DataType::U8, Shape{bytes.value_or(0)});
        pointers.push_back(unused.back().data());
        continue;
      }
      data[id] = {memory_of(plan, id, plan.infos[id]), false, {}};
      pointers.push_back(data[id].tensor.data());
    }
    return step.code->call(pointers, {});
  }

  Result<Done, Diagnostic> call(const Node& node, std::vector<Datum>& data) {
    std::vector<Datum> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(id == graph::kAbsent ? Datum{} : data[id]);
    const RunGraph run_inner = [&](const GraphPtr& inner, std::vector<Datum> arguments) {
      std::vector<Datum> captured;
      for (const graph::Capture& capture : inner->captures)
        captured.push_back(data[capture.outer]);
      auto& runner = inner_[inner.get()];
      if (!runner)
        runner = std::make_unique<Runner>(*inner, kernels_);
      return runner->run(std::move(arguments), std::move(captured));
    };
    KAWARA_TRY(std::vector<Datum> results,
               is_control_flow(node) ? run_control_flow(graph_, node, std::move(inputs), run_inner)
                                     : call_function(graph_, node, std::move(inputs)));
    if (results.size() < node.outputs.size())
      return fail(
          refused(node, {},
                  fmt::format("it gives {} results, not {}", results.size(), node.outputs.size())));
    for (size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] != graph::kAbsent)
        data[node.outputs[k]] = std::move(results[k]);
    return Done{};
  }

  /// Results own their cells: a later call must not change them.
  std::vector<Datum> results(const Plan& plan, const std::vector<Datum>& data) const {
    std::vector<Datum> out;
    for (const ValueId id : graph_.outputs) {
      Datum datum = data[id];
      const bool is_made_here = !plan.infos[id].constant && datum.tensor && !is_input(id);
      if (datum.tensor && !is_made_here)
        datum.tensor = run::copy_of(datum.tensor);
      out.push_back(std::move(datum));
    }
    return out;
  }
  bool is_input(ValueId id) const {
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
  }

  const Graph& graph_;
  Kernels& kernels_;
  std::map<std::string, std::unique_ptr<Plan>> plans_;
  std::map<const Graph*, std::unique_ptr<Runner>> inner_;
};

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
    return fail(graph::model_error(
        "K0522", "there is not enough memory to run `" + graph.name + "`",
        "A tensor on the way is larger than what this machine has left.", "give smaller inputs"));
  }
}

std::map<std::string, Datum> Model::pattern_inputs(std::map<std::string, Datum> given) const {
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
        shape.push_back(dim.size.value_or(1));
    const program::Array array =
        program::fill_pattern(graph::storage_of(*value.type.elem), shape, seed);
    Tensor tensor(*value.type.elem, shape);
    std::memcpy(tensor.data(), array.data(), array.bytes());
    given[value.name] = {tensor, false, {}};
  }
  return given;
}

Result<Model, Diagnostic> load_model(const std::string& path) {
  KAWARA_TRY(const std::string bytes, run::read_file(path));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  KAWARA_TRY(Graph graph, graph::graph_from_onnx(bytes, path, folder));
  return Model(std::move(graph));
}

} // namespace kawara::driver
