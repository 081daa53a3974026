#include "rules/evaluate.h"

#include "program/interpret/interpret.h"
#include "program/operators/registry.h"
#include "support/check.h"

#include <cstring>

namespace kawara::rules {
namespace {

using graph::Tensor;
using graph::ValueId;
using program::operators::Definition;

program::Array array_of(const Tensor& tensor, const std::vector<int64_t>& shape) {
  program::Array array(graph::storage_of(tensor.type()), shape);
  std::memcpy(array.data(), tensor.data(), array.bytes());
  return array;
}

std::vector<Tensor> run_program(const Definition& definition,
                                const std::vector<const Tensor*>& operands) {
  const auto program = program::parse(make_source("operator.kw", definition.text()));
  KAWARA_CHECK(program, render(program.error()));
  const auto shapes = program::required_shapes(*program, {});
  KAWARA_CHECK(shapes, render(shapes.error()));
  program::Arrays inputs;
  for (size_t k = 0; k < program->tensors.size(); ++k) {
    const std::string& name = program->tensors[k].name;
    if (name[0] == 'X')
      inputs.emplace(name, array_of(*operands[std::stoul(name.substr(1))], (*shapes)[k]));
  }
  auto results = program::interpret(*program, {}, std::move(inputs));
  KAWARA_CHECK(results, render(results.error()));
  std::vector<Tensor> outputs;
  for (size_t k = 0; k < definition.results().size(); ++k) {
    const auto& output = definition.results()[k];
    const program::Array& array = results->at("Y" + std::to_string(k));
    outputs.emplace_back(output.type, output.shape);
    std::memcpy(outputs.back().data(), array.data(), array.bytes());
  }
  return outputs;
}

std::vector<Tensor> run_node(const graph::Graph& graph, const graph::Node& node,
                             const std::map<ValueId, Tensor>& values) {
  std::vector<program::operators::Operand> operands;
  std::vector<const Tensor*> tensors;
  for (const ValueId id : node.inputs) {
    program::operators::Operand operand;
    operand.is_present = id != graph::kAbsent;
    tensors.push_back(operand.is_present ? &values.at(id) : nullptr);
    if (operand.is_present) {
      operand.type = tensors.back()->type();
      operand.shape = tensors.back()->shape();
      operand.value = tensors.back();
    }
    operands.push_back(operand);
  }
  const auto* rule = program::operators::find_operator(node.op);
  KAWARA_CHECK(rule, node.op + " is no program");
  Definition definition(node, graph.opsets.at(""), operands);
  rule->rule(definition);
  KAWARA_CHECK(!definition.is_settled(),
               node.op + ": " + definition.refusal().value_or("a value is missing"));
  if (!definition.constants().empty())
    return definition.constants();
  if (const auto view = definition.view())
    return {tensors[*view]->with_shape(definition.results()[0].shape)};
  return run_program(definition, tensors);
}

} // namespace

std::vector<Tensor> evaluate(const graph::Graph& graph, const std::map<ValueId, Tensor>& inputs) {
  std::map<ValueId, Tensor> values = inputs;
  values.insert(graph.initializers.begin(), graph.initializers.end());
  for (const graph::Node& node : graph.nodes) {
    if (node.op == "Identity") {
      values[node.outputs[0]] = values.at(node.inputs[0]);
      continue;
    }
    const std::vector<Tensor> results = run_node(graph, node, values);
    for (size_t k = 0; k < node.outputs.size(); ++k)
      values[node.outputs[k]] = results.at(k);
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs)
    outputs.push_back(values.at(id));
  return outputs;
}

} // namespace kawara::rules
