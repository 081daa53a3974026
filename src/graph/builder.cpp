#include "graph/builder.h"

namespace kawara::graph {

Builder::Builder(std::string name, int64_t opset) {
  graph_.name = std::move(name);
  graph_.opsets[""] = opset;
}

ValueId Builder::define(const std::string& name) {
  graph_.values.push_back({name, {}});
  return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Builder::input(const std::string& name, DataType type, std::vector<Dim> shape) {
  const ValueId id = define(name);
  graph_.values[id].type = {ValueType::Kind::Tensor, type, std::move(shape)};
  graph_.inputs.push_back(id);
  return id;
}

ValueId Builder::constant(const std::string& name, Tensor tensor) {
  const ValueId id = define(name);
  graph_.initializers.emplace(id, std::move(tensor));
  return id;
}

ValueId Builder::integers(const std::string& name, const std::vector<int64_t>& values) {
  Tensor tensor(DataType::I64, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), values[k]);
  return constant(name, std::move(tensor));
}

ValueId Builder::add(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                     Attributes attributes) {
  const ValueId result = define(name);
  graph_.nodes.push_back({name, op, "", std::move(inputs), {result}, std::move(attributes)});
  return result;
}

std::vector<ValueId> Builder::add_many(const std::string& op, const std::string& name,
                                       std::vector<ValueId> inputs, size_t outputs,
                                       Attributes attributes) {
  std::vector<ValueId> results;
  for (size_t k = 0; k < outputs; ++k)
    results.push_back(define(name + "_" + std::to_string(k)));
  graph_.nodes.push_back({name, op, "", std::move(inputs), results, std::move(attributes)});
  return results;
}

void Builder::output(ValueId value, DataType type, std::vector<Dim> shape) {
  graph_.values[value].type = {ValueType::Kind::Tensor, type, std::move(shape)};
  graph_.outputs.push_back(value);
}

std::vector<Dim> dims_of(const Shape& shape) {
  std::vector<Dim> dims;
  for (const int64_t extent : shape)
    dims.push_back({extent, ""});
  return dims;
}

} // namespace kawara::graph
