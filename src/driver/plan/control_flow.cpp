#include "driver/plan/control_flow.h"

#include "graph/attributes.h"
#include "support/text.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace kawara::driver {
namespace {

using graph::GraphPtr;
using graph::Node;
using Results = Result<std::vector<Datum>, Diagnostic>;

Diagnostic refused_data(const Node& node, const std::vector<Datum>& inputs,
                        const std::string& why) {
  std::vector<std::string> texts;
  for (const Datum& datum : inputs)
    texts.push_back(text_of(datum));
  return refused(node, texts, why);
}

GraphPtr body_of(const Node& node, const char* name) {
  const auto at = node.attributes.find(name);
  if (at == node.attributes.end())
    return nullptr;
  const auto* graph = std::get_if<GraphPtr>(&at->second);
  return graph ? *graph : nullptr;
}

Results run_if(const Node& node, const std::vector<Datum>& inputs, const RunGraph& run) {
  if (inputs.size() != 1 || !inputs[0].tensor || inputs[0].tensor.elements() != 1)
    return fail(refused_data(node, inputs, "it needs one truth value"));
  const GraphPtr body =
      body_of(node, inputs[0].tensor.get_int(0) != 0 ? "then_branch" : "else_branch");
  if (!body || !body->inputs.empty())
    return fail(refused_data(node, inputs, "a branch is missing or has inputs"));
  return run(body, {});
}

/// Tensors of one shape, stacked along a new dimension `axis`.
std::optional<Tensor> stacked(const std::vector<Tensor>& parts, int64_t axis) {
  if (parts.empty())
    return std::nullopt;
  const Shape& each = parts[0].shape();
  int64_t outer = 1;
  for (int64_t k = 0; k < axis; ++k)
    outer *= each[static_cast<size_t>(k)];
  Shape shape = each;
  shape.insert(shape.begin() + axis, static_cast<int64_t>(parts.size()));
  Tensor out(parts[0].type(), shape);
  const int64_t bytes = outer == 0 ? 0 : parts[0].bytes() / outer;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (parts[k].shape() != each || parts[k].type() != parts[0].type())
      return std::nullopt;
    for (int64_t a = 0; a < outer; ++a)
      std::memcpy(out.data() +
                      (a * static_cast<int64_t>(parts.size()) + static_cast<int64_t>(k)) * bytes,
                  parts[k].data() + a * bytes, static_cast<size_t>(bytes));
  }
  return out;
}

Tensor scalar_tensor(graph::DataType type, int64_t value) {
  Tensor tensor(type, {});
  tensor.set_int(0, value);
  return tensor;
}

/// What an iteration leaves for every position of a stacked output; an empty list has the declared
/// shape.
Results collected(const Node& node, const GraphPtr& body, size_t first,
                  const std::vector<std::vector<Tensor>>& lists, const std::vector<int64_t>& axes,
                  std::vector<Datum> results) {
  for (size_t k = 0; k < lists.size(); ++k) {
    if (lists[k].empty()) {
      const graph::ValueType& type = body->values[body->outputs[first + k]].type;
      Shape shape{0};
      if (type.shape)
        for (const graph::Dim& dim : *type.shape)
          shape.push_back(dim.size.value_or(0));
      results.push_back({Tensor(type.elem.value_or(graph::DataType::F32), shape), false, {}});
      continue;
    }
    const int64_t rank = lists[k][0].rank() + 1, axis = k < axes.size() ? axes[k] : 0;
    if (axis < -rank || axis >= rank)
      return fail(
          refused_data(node, {}, "a scanned output has fewer dimensions than its axis says"));
    auto stack = stacked(lists[k], axis < 0 ? axis + rank : axis);
    if (!stack)
      return fail(refused_data(node, {}, "iterations give results of different shapes"));
    results.push_back({*std::move(stack), false, {}});
  }
  return results;
}

/// Rounds that no model needs, and no user waits for.
constexpr int64_t kMostRounds = 100'000'000;

/// Is what the body says about going on the same in every round, namely yes?
bool always_goes_on(const graph::Graph& body) {
  ValueId id = body.outputs[0];
  for (size_t n = body.nodes.size(); n-- > 0;) // makers come before readers
    if (const Node& node = body.nodes[n]; node.op == "Identity" && node.domain.empty() &&
                                          node.inputs.size() == 1 && node.outputs.size() == 1 &&
                                          node.outputs[0] == id)
      id = node.inputs[0];
  if (const auto constant = body.initializers.find(id); constant != body.initializers.end())
    return constant->second.elements() == 1 && constant->second.get_int(0) != 0;
  return id == body.inputs[1];
}

Results run_loop(const Node& node, const std::vector<Datum>& inputs, const RunGraph& run) {
  const GraphPtr body = body_of(node, "body");
  if (!body || inputs.size() < 2 || body->inputs.size() != inputs.size() ||
      body->outputs.size() + 1 < inputs.size())
    return fail(refused_data(node, inputs, "its body does not take these inputs"));
  const size_t carried = inputs.size() - 2;
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (inputs[0].tensor && inputs[0].tensor.elements() == 1)
    limit = inputs[0].tensor.get_int(0);
  bool goes_on =
      !inputs[1].tensor || inputs[1].tensor.elements() != 1 || inputs[1].tensor.get_int(0) != 0;
  if (goes_on && limit > kMostRounds && always_goes_on(*body))
    return fail(refused_data(node, inputs, "it does not end: its condition never changes"));
  std::vector<Datum> state(inputs.begin() + 2, inputs.end());
  std::vector<std::vector<Tensor>> lists(body->outputs.size() - 1 - carried);
  for (int64_t i = 0; i < limit && goes_on; ++i) {
    std::vector<Datum> arguments{{scalar_tensor(graph::DataType::I64, i), false, {}},
                                 {scalar_tensor(graph::DataType::Bool, 1), false, {}}};
    arguments.insert(arguments.end(), state.begin(), state.end());
    KAWARA_TRY(std::vector<Datum> results, run(body, std::move(arguments)));
    if (!results[0].tensor || results[0].tensor.elements() != 1)
      return fail(refused_data(node, inputs, "its body gives no truth value"));
    goes_on = results[0].tensor.get_int(0) != 0;
    std::move(results.begin() + 1, results.begin() + 1 + static_cast<int64_t>(carried),
              state.begin());
    for (size_t k = 0; k < lists.size(); ++k)
      lists[k].push_back(results[1 + carried + k].tensor);
  }
  return collected(node, body, 1 + carried, lists, {}, std::move(state));
}

/// Elements with coordinate `at` along `axis`, that dimension left out.
Tensor taken(const Tensor& from, int64_t axis, int64_t at) {
  Shape shape = from.shape();
  const int64_t extent = shape[static_cast<size_t>(axis)];
  int64_t outer = 1;
  for (int64_t k = 0; k < axis; ++k)
    outer *= shape[static_cast<size_t>(k)];
  shape.erase(shape.begin() + axis);
  Tensor out(from.type(), shape);
  const int64_t bytes = outer == 0 ? 0 : out.bytes() / outer;
  for (int64_t a = 0; a < outer; ++a)
    std::memcpy(out.data() + a * bytes, from.data() + (a * extent + at) * bytes,
                static_cast<size_t>(bytes));
  return out;
}

struct Scan {
  size_t states = 0, scans = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  int64_t length = 0;
};

Results scan_once(const Node& node, const GraphPtr& body, const Scan& scan,
                  const std::vector<Datum>& inputs, const RunGraph& run) {
  std::vector<Datum> state(inputs.begin(), inputs.begin() + static_cast<int64_t>(scan.states));
  std::vector<std::vector<Tensor>> lists(body->outputs.size() - scan.states);
  for (int64_t i = 0; i < scan.length; ++i) {
    std::vector<Datum> arguments = state;
    for (size_t k = 0; k < scan.scans; ++k) {
      const bool is_backward = k < scan.input_directions.size() && scan.input_directions[k] != 0;
      const Tensor& from = inputs[scan.states + k].tensor;
      arguments.push_back(
          {taken(from, scan.input_axes[k], is_backward ? scan.length - 1 - i : i), false, {}});
    }
    KAWARA_TRY(std::vector<Datum> results, run(body, std::move(arguments)));
    std::move(results.begin(), results.begin() + static_cast<int64_t>(scan.states), state.begin());
    for (size_t k = 0; k < lists.size(); ++k)
      lists[k].push_back(results[scan.states + k].tensor);
  }
  for (size_t k = 0; k < lists.size(); ++k)
    if (k < scan.output_directions.size() && scan.output_directions[k] != 0)
      std::reverse(lists[k].begin(), lists[k].end());
  return collected(node, body, scan.states, lists, scan.output_axes, std::move(state));
}

Results run_scan(int64_t opset, const Node& node, std::vector<Datum> inputs, const RunGraph& run) {
  const GraphPtr body = body_of(node, "body");
  const run::FunctionCall call{node, opset, {}};
  // Version 8 had a batch in front of everything, and lengths as an optional first input.
  const bool is_batched = opset < 9;
  const Tensor lengths = is_batched && !inputs.empty() ? inputs[0].tensor : Tensor();
  if (is_batched && !inputs.empty())
    inputs.erase(inputs.begin());
  const int64_t given = call.integer("num_scan_inputs", 0);
  if (!body || given < 1 || static_cast<size_t>(given) > inputs.size() ||
      body->inputs.size() != inputs.size())
    return fail(refused_data(node, inputs, "its body does not take these inputs"));
  Scan scan;
  scan.scans = static_cast<size_t>(given);
  scan.states = inputs.size() - scan.scans;
  scan.input_axes = call.integers("scan_input_axes");
  scan.input_axes.resize(scan.scans, 0);
  scan.input_directions = call.integers(is_batched ? "directions" : "scan_input_directions");
  scan.output_axes = call.integers("scan_output_axes");
  scan.output_directions = call.integers("scan_output_directions");
  if (body->outputs.size() < scan.states)
    return fail(refused_data(node, inputs, "its body gives too few results"));
  const auto prepare = [&](const std::vector<Datum>& data) {
    for (size_t k = 0; k < scan.scans; ++k) {
      const Tensor& from = data[scan.states + k].tensor;
      int64_t& axis = scan.input_axes[k];
      axis = run::axis_of(axis, from.rank());
      if (axis < 0)
        return false;
      const int64_t length = from.shape()[static_cast<size_t>(axis)];
      if (k > 0 && length != scan.length)
        return false;
      scan.length = length;
    }
    return true;
  };
  if (!is_batched) {
    if (!prepare(inputs))
      return fail(refused_data(node, inputs, "the scanned inputs have different lengths"));
    return scan_once(node, body, scan, inputs, run);
  }
  std::vector<std::vector<Tensor>> parts(body->outputs.size());
  if (inputs.empty() || inputs[0].tensor.rank() < 1)
    return fail(refused_data(node, inputs, "its inputs have no batch"));
  for (int64_t b = 0; b < inputs[0].tensor.shape()[0]; ++b) {
    std::vector<Datum> one;
    for (const Datum& datum : inputs) {
      if (datum.tensor.rank() < 1 || datum.tensor.shape()[0] != inputs[0].tensor.shape()[0])
        return fail(refused_data(node, inputs, "its inputs have different batches"));
      one.push_back({taken(datum.tensor, 0, b), false, {}});
    }
    if (!prepare(one))
      return fail(refused_data(node, inputs, "the scanned inputs have different lengths"));
    if (lengths && (lengths.elements() <= b || lengths.get_int(b) != scan.length))
      return fail(refused_data(node, inputs, "sequences of different lengths are not known"));
    KAWARA_TRY(const std::vector<Datum> results, scan_once(node, body, scan, one, run));
    for (size_t k = 0; k < results.size(); ++k)
      parts[k].push_back(results[k].tensor);
  }
  return collected(node, body, 0, parts, {}, {});
}

Results run_sequence_map(const Node& node, const std::vector<Datum>& inputs, const RunGraph& run) {
  const GraphPtr body = body_of(node, "body");
  if (!body || inputs.empty() || !inputs[0].is_sequence || body->inputs.size() != inputs.size())
    return fail(refused_data(node, inputs, "it needs a sequence and a body that takes the inputs"));
  std::vector<Datum> results(body->outputs.size(), Datum{{}, true, {}});
  for (size_t i = 0; i < inputs[0].items.size(); ++i) {
    std::vector<Datum> arguments;
    for (const Datum& datum : inputs) {
      if (datum.is_sequence && datum.items.size() <= i)
        return fail(refused_data(node, inputs, "its sequences have different lengths"));
      arguments.push_back(datum.is_sequence ? Datum{datum.items[i], false, {}} : datum);
    }
    KAWARA_TRY(const std::vector<Datum> each, run(body, std::move(arguments)));
    for (size_t k = 0; k < each.size(); ++k)
      results[k].items.push_back(each[k].tensor);
  }
  return results;
}

int64_t opset_of(const graph::Graph& graph) {
  const auto at = graph.opsets.find("");
  return at == graph.opsets.end() ? 1 : at->second;
}

} // namespace

std::vector<std::string> control_flow_names() { return {"If", "Loop", "Scan", "SequenceMap"}; }

bool is_control_flow(const Node& node) {
  const std::vector<std::string> names = control_flow_names();
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

Results call_function(const graph::Graph& graph, const Node& node, std::vector<Datum> inputs) {
  const run::Function* function = run::find_function(node.op);
  std::set<std::string> reads;
  const run::FunctionCall call{node, opset_of(graph), std::move(inputs), &reads};
  for (size_t k = 0; k < function->needed; ++k)
    if (!call.has(k))
      return fail(refused_data(node, call.inputs, fmt::format("input {} is missing", k)));
  auto results = function->call(call);
  if (!results)
    return fail(refused_data(node, call.inputs, results.error()));
  if (auto problem = graph::unread_attribute(node, call.opset, reads))
    return fail(*std::move(problem));
  return *std::move(results);
}

Results run_control_flow(const graph::Graph& graph, const Node& node, std::vector<Datum> inputs,
                         const RunGraph& run) {
  if (node.op == "If")
    return run_if(node, inputs, run);
  if (node.op == "Loop")
    return run_loop(node, inputs, run);
  if (node.op == "Scan")
    return run_scan(opset_of(graph), node, std::move(inputs), run);
  return run_sequence_map(node, inputs, run);
}

} // namespace kawara::driver
