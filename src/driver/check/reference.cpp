#include "driver/check/reference.h"

#include "driver/plan/control_flow.h"
#include "driver/request.h"
#include "graph/attributes.h"
#include "program/interpret/interpret.h"
#include "program/operators/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kawara::driver {
namespace {

using graph::Node;
using program::operators::Definition;
using program::operators::Operand;
using Values = Result<std::vector<Datum>, Diagnostic>;

program::Array array_of(const Tensor& tensor, const std::vector<int64_t>& shape) {
  program::Array array(graph::storage_of(tensor.type()), shape);
  std::memcpy(array.data(), tensor.data(), static_cast<size_t>(tensor.bytes()));
  return array;
}

class Interpreter {
public:
  explicit Interpreter(const graph::Graph& graph) : graph_(graph), data_(graph.values.size()) {}

  Values run(const std::vector<Datum>& inputs, const std::vector<Datum>& captured,
             const NodeProgress& progress) {
    for (size_t k = 0; k < inputs.size(); ++k)
      data_[graph_.inputs[k]] = inputs[k];
    for (size_t k = 0; k < captured.size(); ++k)
      data_[graph_.captures[k].inner] = captured[k];
    for (const auto& [id, tensor] : graph_.initializers)
      data_[id] = {tensor, false, {}};
    size_t done = 0;
    for (const Node& node : graph_.nodes) {
      if (progress)
        progress(done++, graph_.nodes.size());
      KAWARA_TRY(std::vector<Datum> results, run_node(node));
      for (size_t k = 0; k < node.outputs.size(); ++k)
        if (node.outputs[k] != graph::kAbsent && k < results.size())
          data_[node.outputs[k]] = std::move(results[k]);
    }
    return std::move(data_);
  }

private:
  std::vector<Datum> inputs_of(const Node& node) const {
    std::vector<Datum> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(id == graph::kAbsent ? Datum{} : data_[id]);
    return inputs;
  }

  Diagnostic refusal(const Node& node, const std::string& why) const {
    std::vector<std::string> texts;
    for (const Datum& datum : inputs_of(node))
      texts.push_back(text_of(datum));
    return refused(node, texts, why);
  }

  Values run_node(const Node& node) {
    const std::vector<Datum> inputs = inputs_of(node);
    bool has_sequence = false;
    for (const Datum& datum : inputs)
      has_sequence = has_sequence || datum.is_sequence;
    const auto* op = node.domain.empty() ? program::operators::find_operator(node.op) : nullptr;
    if (op && !has_sequence)
      return run_defined(node, *op, inputs);
    if (is_control_flow(node))
      return run_control_flow(graph_, node, inputs,
                              [&](const graph::GraphPtr& inner, std::vector<Datum> arguments) {
                                std::vector<Datum> captured;
                                for (const graph::Capture& capture : inner->captures)
                                  captured.push_back(data_[capture.outer]);
                                return interpret(*inner, arguments, captured);
                              });
    if (!node.domain.empty() || run::find_function(node.op) == nullptr)
      return fail(refusal(node, "there is no such operator"));
    return call_function(graph_, node, inputs);
  }

  Values run_defined(const Node& node, const program::operators::Operator& op,
                     const std::vector<Datum>& inputs) {
    std::vector<Operand> operands;
    for (size_t k = 0; k < inputs.size(); ++k) {
      Operand operand;
      operand.is_present = node.inputs[k] != graph::kAbsent;
      operand.type = inputs[k].tensor.type();
      operand.shape = inputs[k].tensor.shape();
      operand.value = &inputs[k].tensor;
      operands.push_back(std::move(operand));
    }
    const auto version = graph_.opsets.find("");
    Definition definition(node, version == graph_.opsets.end() ? 1 : version->second, operands);
    op.rule(definition);
    if (definition.is_declined())
      return call_function(graph_, node, inputs);
    if (definition.refusal())
      return fail(refusal(node, *definition.refusal()));
    if (auto problem = graph::unread_attribute(node, definition.opset(), definition.reads()))
      return fail(*std::move(problem));
    std::vector<Datum> results;
    for (const program::operators::Output& output : definition.results())
      results.push_back({Tensor(output.type, output.shape), false, {}});
    if (definition.is_program()) {
      KAWARA_TRY([[maybe_unused]] const Done done, run_program(node, definition, inputs, results));
    }
    if (const auto view = definition.view(); view && !results.empty())
      results[0].tensor = inputs[*view]
                              .tensor.with_type(results[0].tensor.type())
                              .with_shape(results[0].tensor.shape());
    for (size_t k = 0; k < definition.constants().size(); ++k)
      if (definition.constants()[k]) {
        results.resize(std::max(results.size(), k + 1));
        results[k] = {definition.constants()[k], false, {}};
      }
    return results;
  }

  Result<Done, Diagnostic> run_program(const Node& node, const Definition& definition,
                                       const std::vector<Datum>& inputs,
                                       std::vector<Datum>& results) const {
    if (std::all_of(results.begin(), results.end(),
                    [](const Datum& result) { return result.tensor.elements() == 0; }))
      return Done{};
    Request request;
    request.text = make_source("operator.kw", definition.text());
    const auto program = program_of(request);
    if (!program)
      return fail(refusal(node, "its program is refused: " + program.error().front().headline));
    KAWARA_TRY(const auto shapes, program::required_shapes(*program, {}));
    program::Arrays arrays;
    for (const size_t k : definition.used_operands()) {
      const std::string name = "X" + std::to_string(k);
      for (size_t t = 0; t < program->tensors.size(); ++t)
        if (program->tensors[t].name == name)
          arrays.emplace(name, array_of(inputs[k].tensor, shapes[t]));
    }
    KAWARA_TRY(const program::Arrays made, program::interpret(*program, {}, std::move(arrays)));
    for (size_t k = 0; k < results.size(); ++k) {
      const program::Array& from = made.at("Y" + std::to_string(k));
      std::memcpy(results[k].tensor.data(), from.data(), from.bytes());
    }
    return Done{};
  }

  const graph::Graph& graph_;
  std::vector<Datum> data_;
};

} // namespace

Values interpret_all(const graph::Graph& graph, const std::vector<Datum>& inputs,
                     const std::vector<Datum>& captured, const NodeProgress& progress) {
  return Interpreter(graph).run(inputs, captured, progress);
}

Values interpret(const graph::Graph& graph, const std::vector<Datum>& inputs,
                 const std::vector<Datum>& captured, const NodeProgress& progress) {
  KAWARA_TRY(const std::vector<Datum> data, interpret_all(graph, inputs, captured, progress));
  std::vector<Datum> results;
  for (const ValueId id : graph.outputs)
    results.push_back(data[id]);
  return results;
}

} // namespace kawara::driver
