#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <algorithm>
#include <map>

namespace kawara::graph::optimise {
namespace {

/// Large constants are rarely equal and take long to compare.
constexpr int64_t kMostElements = 4096;

void add_bytes(std::string& key, const void* data, size_t bytes) {
  key += std::to_string(bytes) + ":";
  key.append(static_cast<const char*>(data), bytes);
}

void add_tensor(std::string& key, const Tensor& tensor) {
  key += std::string(name_of(tensor.type())) + text_of(tensor.shape());
  add_bytes(key, tensor.data(), static_cast<size_t>(tensor.bytes()));
}

/// Everything that an attribute is, byte by byte; false for graphs.
bool add_attribute(std::string& key, const Attribute& attribute) {
  key += static_cast<char>('a' + attribute.index());
  if (const auto* integer = std::get_if<int64_t>(&attribute))
    add_bytes(key, integer, sizeof *integer);
  else if (const auto* real = std::get_if<double>(&attribute))
    add_bytes(key, real, sizeof *real);
  else if (const auto* text = std::get_if<std::string>(&attribute))
    add_bytes(key, text->data(), text->size());
  else if (const auto* tensor = std::get_if<Tensor>(&attribute))
    add_tensor(key, *tensor);
  else if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute))
    add_bytes(key, integers->data(), integers->size() * sizeof(int64_t));
  else if (const auto* reals = std::get_if<std::vector<double>>(&attribute))
    add_bytes(key, reals->data(), reals->size() * sizeof(double));
  else
    return false;
  return true;
}

/// Equal for nodes that compute the same from the same values.
std::optional<std::string> key_of(const Node& node) {
  if (node.op.rfind("Random", 0) == 0 || node.op == "Multinomial" || node.op == "Bernoulli" ||
      node.op == "Dropout")
    return std::nullopt;
  std::string key = node.domain + "." + node.op + "(";
  for (const ValueId id : node.inputs)
    key += std::to_string(id) + ",";
  key += ")" + std::to_string(node.outputs.size());
  for (const ValueId id : node.outputs)
    key += id == kAbsent ? "-" : "+";
  for (const auto& [name, attribute] : node.attributes) {
    key += name + "=";
    if (!add_attribute(key, attribute))
      return std::nullopt;
  }
  return key;
}

void merge_constants(Edit& edit) {
  std::map<std::string, ValueId> seen;
  for (const auto& [id, tensor] : edit.graph().initializers) {
    if (tensor.elements() > kMostElements || edit.is_pinned(id))
      continue;
    std::string key;
    add_tensor(key, tensor);
    const auto [at, is_new] = seen.emplace(std::move(key), id);
    if (!is_new)
      edit.replace(id, at->second);
  }
}

} // namespace

Graph merge_equal(Graph graph, const Evaluate&) {
  Edit edit(std::move(graph));
  merge_constants(edit);
  std::map<std::string, size_t> seen;
  for (size_t n = 0; n < edit.nodes(); ++n) {
    const auto key = key_of(edit.node(n));
    const auto& outputs = edit.node(n).outputs;
    if (!key || std::any_of(outputs.begin(), outputs.end(),
                            [&](ValueId id) { return id != kAbsent && edit.is_pinned(id); }))
      continue;
    const auto [at, is_new] = seen.emplace(*key, n);
    if (is_new)
      continue;
    for (size_t k = 0; k < outputs.size(); ++k)
      if (outputs[k] != kAbsent)
        edit.replace(outputs[k], edit.node(at->second).outputs[k]);
    edit.remove(n);
  }
  return std::move(edit).done();
}

} // namespace kawara::graph::optimise
