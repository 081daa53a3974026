#include "graph/onnx/scope.h"

namespace kawara::graph {

Scope::Scope(const ::onnx::GraphProto& graph, const Scope* outer) : graph_(graph), outer_(outer) {
  for (const auto& input : graph.input())
    given_.insert(input.name());
  for (const auto& tensor : graph.initializer())
    given_.insert(tensor.name());
  for (int k = 0; k < graph.node_size(); ++k)
    for (const std::string& name : graph.node(k).output())
      if (!name.empty())
        makers_.emplace(name, k);
}

std::optional<int> Scope::maker(const std::string& name) const {
  const auto at = makers_.find(name);
  return at == makers_.end() ? std::nullopt : std::optional(at->second);
}

bool Scope::is_before(const std::string& name) const {
  if (given_.count(name))
    return true;
  const auto made = maker(name);
  return (made && *made < position_) || (outer_ && outer_->is_before(name));
}

bool Scope::is_own(const std::string& name) const {
  if (given_.count(name))
    return true;
  const auto made = maker(name);
  return made && (*made < position_ || !outer_ || !outer_->is_before(name));
}

std::set<std::string> Scope::reads(int position) {
  enter(position);
  std::set<std::string> names;
  add_reads(graph_.node(position), names);
  return names;
}

void Scope::add_reads(const ::onnx::NodeProto& node, std::set<std::string>& names) const {
  names.insert(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g())
      continue;
    Scope inner(attribute.g(), this);
    const auto add = [&](const std::string& name) {
      if (!inner.is_own(name))
        names.insert(name);
    };
    for (int k = 0; k < attribute.g().node_size(); ++k)
      for (const std::string& name : inner.reads(k))
        add(name);
    inner.enter(attribute.g().node_size());
    for (const auto& output : attribute.g().output())
      add(output.name());
  }
}

} // namespace kawara::graph
