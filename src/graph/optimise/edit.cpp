#include "graph/optimise/edit.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace kawara::graph::optimise {

Edit::Edit(Graph graph) : graph_(std::move(graph)), is_removed_(graph_.nodes.size(), false) {
  index();
}

void Edit::index() {
  makers_.assign(graph_.values.size(), std::nullopt);
  readers_.assign(graph_.values.size(), {});
  pinned_ = {graph_.outputs.begin(), graph_.outputs.end()};
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (is_removed_[n])
      continue;
    for (const ValueId id : graph_.nodes[n].outputs)
      if (id != kAbsent)
        makers_[id] = n;
    for (const ValueId id : graph_.nodes[n].inputs)
      if (id != kAbsent)
        readers_[id].push_back(n);
    for (const auto& [name, attribute] : graph_.nodes[n].attributes)
      if (const auto* inner = std::get_if<GraphPtr>(&attribute))
        for (const Capture& capture : (*inner)->captures)
          pinned_.insert(capture.outer);
  }
}

std::optional<size_t> Edit::maker(ValueId id) const {
  return id < makers_.size() ? makers_[id] : std::nullopt;
}

const Node* Edit::maker_named(ValueId id, std::string_view op) const {
  const auto at = maker(id);
  return at && is_op(graph_.nodes[*at], op) ? &graph_.nodes[*at] : nullptr;
}

const std::vector<size_t>& Edit::readers(ValueId id) const { return readers_[id]; }

const Tensor* Edit::constant(ValueId id) const {
  const auto at = graph_.initializers.find(id);
  return at == graph_.initializers.end() ? nullptr : &at->second;
}

std::optional<double> Edit::number(ValueId id) const {
  const Tensor* tensor = constant(id);
  return tensor && tensor->elements() == 1 && tensor->rank() <= 1
             ? std::optional(tensor->get_double(0))
             : std::nullopt;
}

ValueId Edit::add_value(const std::string& name) {
  std::string unique = name;
  const auto is_taken = [&](const std::string& text) {
    return std::any_of(graph_.values.begin(), graph_.values.end(),
                       [&](const Value& value) { return value.name == text; });
  };
  for (int64_t k = 1; is_taken(unique); ++k)
    unique = name + "_" + std::to_string(k);
  const auto id = static_cast<ValueId>(graph_.values.size());
  graph_.values.push_back({unique, {}});
  makers_.emplace_back();
  readers_.emplace_back();
  return id;
}

ValueId Edit::add_constant(const std::string& name, Tensor tensor) {
  const ValueId id = add_value(name);
  graph_.initializers[id] = std::move(tensor);
  return id;
}

void Edit::add_node(Node node) {
  graph_.nodes.push_back(std::move(node));
  is_removed_.push_back(false);
  index();
}

void Edit::make_constant(ValueId id, Tensor tensor) {
  graph_.initializers[id] = std::move(tensor);
  makers_[id] = std::nullopt;
}

void Edit::replace(ValueId old, ValueId now) {
  for (const size_t n : readers_[old]) {
    for (ValueId& id : graph_.nodes[n].inputs)
      id = id == old ? now : id;
    readers_[now].push_back(n);
  }
  readers_[old].clear();
}

void Edit::set(size_t n, Node node) {
  graph_.nodes[n] = std::move(node);
  index();
}

void Edit::remove(size_t n) {
  is_removed_[n] = true;
  for (const ValueId id : graph_.nodes[n].inputs)
    if (id != kAbsent)
      std::erase(readers_[id], n);
  for (const ValueId id : graph_.nodes[n].outputs)
    if (id != kAbsent && makers_[id] == n)
      makers_[id] = std::nullopt;
}

Graph Edit::done() && {
  std::vector<Node> left;
  for (size_t n = 0; n < graph_.nodes.size(); ++n)
    if (!is_removed_[n])
      left.push_back(std::move(graph_.nodes[n]));
  // A node that took the place of several may read what is made after the first of them.
  std::vector<bool> is_made(graph_.values.size(), true);
  for (const Node& node : left)
    for (const ValueId id : node.outputs)
      if (id != kAbsent)
        is_made[id] = false;
  std::vector<bool> is_placed(left.size(), false);
  const auto is_ready = [&](const Node& node) {
    bool ready = std::all_of(node.inputs.begin(), node.inputs.end(),
                             [&](ValueId id) { return id == kAbsent || is_made[id]; });
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<GraphPtr>(&attribute))
        for (const Capture& capture : (*inner)->captures)
          ready = ready && is_made[capture.outer];
    return ready;
  };
  graph_.nodes.clear();
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (size_t n = 0; n < left.size(); ++n) {
      if (is_placed[n] || !is_ready(left[n]))
        continue;
      is_placed[n] = is_changed = true;
      for (const ValueId id : left[n].outputs)
        if (id != kAbsent)
          is_made[id] = true;
      graph_.nodes.push_back(std::move(left[n]));
    }
  }
  return std::move(graph_);
}

int64_t integer_of(const Node& node, const std::string& name, int64_t otherwise) {
  const auto at = node.attributes.find(name);
  const auto* value = at == node.attributes.end() ? nullptr : std::get_if<int64_t>(&at->second);
  return value ? *value : otherwise;
}

double real_of(const Node& node, const std::string& name, double otherwise) {
  const auto at = node.attributes.find(name);
  const auto* value = at == node.attributes.end() ? nullptr : std::get_if<double>(&at->second);
  return value ? *value : otherwise;
}

std::string word_of(const Node& node, const std::string& name, const std::string& otherwise) {
  const auto at = node.attributes.find(name);
  const auto* value = at == node.attributes.end() ? nullptr : std::get_if<std::string>(&at->second);
  return value ? *value : otherwise;
}

std::vector<int64_t> integers_of(const Node& node, const std::string& name) {
  const auto at = node.attributes.find(name);
  const auto* value =
      at == node.attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&at->second);
  return value ? *value : std::vector<int64_t>{};
}

bool is_op(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

namespace {

/// Operands that an operator cannot do without, as far as passes look at it.
size_t needed_operands(const Node& node) {
  static const std::map<std::string_view, size_t> kNone{
      {"Constant", 0},      {"EyeLike", 0},  {"If", 0},
      {"Loop", 0},          {"Optional", 0}, {"RandomNormal", 0},
      {"RandomUniform", 0}, {"Scan", 0},     {"SequenceEmpty", 0},
      {"SequenceMap", 0}};
  static const std::map<std::string_view, size_t> kSeveral{{"Add", 2},
                                                           {"And", 2},
                                                           {"Attention", 3},
                                                           {"BatchNormalization", 5},
                                                           {"Conv", 2},
                                                           {"ConvTranspose", 2},
                                                           {"Div", 2},
                                                           {"Equal", 2},
                                                           {"Expand", 2},
                                                           {"Gather", 2},
                                                           {"Gemm", 2},
                                                           {"Greater", 2},
                                                           {"GreaterOrEqual", 2},
                                                           {"LSTM", 3},
                                                           {"LayerNormalization", 2},
                                                           {"Less", 2},
                                                           {"LessOrEqual", 2},
                                                           {"MatMul", 2},
                                                           {"Mul", 2},
                                                           {"Or", 2},
                                                           {"PRelu", 2},
                                                           {"Pow", 2},
                                                           {"Sub", 2},
                                                           {"Where", 3},
                                                           {"Xor", 2}};
  if (!node.domain.empty() || kNone.count(node.op) > 0)
    return 0;
  const auto several = kSeveral.find(node.op);
  return several == kSeveral.end() ? 1 : several->second;
}

} // namespace

bool has_all_operands(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const size_t needed = needed_operands(node);
    const bool has_result =
        node.outputs.size() > 1 || (node.outputs.size() == 1 && node.outputs[0] != kAbsent);
    if (is_op(node, "Constant"))
      return has_result && node.outputs.size() == 1;
    if (needed == 0)
      return true;
    return has_result && node.inputs.size() >= needed &&
           std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(needed),
                     kAbsent) == node.inputs.begin() + static_cast<std::ptrdiff_t>(needed);
  });
}

int64_t version_of(const Graph& graph) {
  const auto at = graph.opsets.find("");
  return at == graph.opsets.end() ? 1 : at->second;
}

} // namespace kawara::graph::optimise
