#include "graph/rewrite/to_graph.h"

#include "graph/rewrite/match.h"
#include "graph/rewrite/to_node.h"
#include "support/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kawara::rewrite {
namespace {

using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;

class GraphWriter {
public:
  GraphWriter(const Graph& source, const Terms& terms, const Choice& choice)
      : source_(source), terms_(terms), egraph_(terms.egraph), choice_(choice) {}

  Graph run() {
    result_.name = source_.name;
    result_.opsets = source_.opsets;
    choose_names();
    for (const ValueId id : source_.inputs)
      result_.inputs.push_back(keep(id));
    for (const graph::Capture& capture : source_.captures)
      result_.captures.push_back({capture.outer, keep(capture.inner)});
    for (const ValueId id : source_.outputs)
      result_.outputs.push_back(output(id));
    return std::move(result_);
  }

private:
  /// Names that must stay, and for every class the name that it had.
  void choose_names() {
    for (const ValueId id : source_.inputs)
      taken_.insert(source_.values[id].name);
    for (const ValueId id : source_.outputs)
      taken_.insert(source_.values[id].name);
    for (const auto& [id, old] : terms_.classes) {
      const ClassId at = egraph_.find(old);
      const bool is_output =
          std::find(source_.outputs.begin(), source_.outputs.end(), id) != source_.outputs.end();
      if (is_output && !is_leaf(at))
        names_.emplace(at, source_.values[id].name);
    }
    for (const auto& [id, old] : terms_.classes)
      old_names_.emplace(egraph_.find(old), source_.values[id].name);
    for (const Node& node : source_.nodes)
      for (const ValueId id : node.outputs)
        if (id != kAbsent)
          node_names_.emplace(source_.values[id].name, node.name);
  }

  const ENode& chosen(ClassId id) const { return egraph_.at(id).nodes[choice_.node[id]]; }
  /// Inputs and constants already are a value with a name.
  bool is_leaf(ClassId id) const { return chosen(id).operands.empty() && is_value(chosen(id)); }
  bool is_value(const ENode& node) const {
    const std::string& name = egraph_.op_name(node.op);
    return name.rfind("value#", 0) == 0 || number_from_name(name);
  }

  ValueId new_value(std::string name, graph::ValueType type) {
    for (int k = 1; !used_.insert(name).second; ++k)
      name = fmt::format("{}_{}", name, k);
    result_.values.push_back({std::move(name), std::move(type)});
    return static_cast<ValueId>(result_.values.size() - 1);
  }

  graph::ValueType type_of(ClassId id) const {
    graph::ValueType type;
    if (const auto& known = egraph_.at(id).type) {
      type.elem = known->elem;
      type.shape.emplace();
      for (const int64_t extent : known->shape) {
        graph::Dim dim;
        if (!is_symbol(extent))
          dim.size = extent;
        else if (const std::string& text = egraph_.symbols().text(extent); text[0] != '(')
          dim.symbol = text;
        type.shape->push_back(std::move(dim));
      }
    }
    return type;
  }

  /// A value of the source that exists before any node runs.
  ValueId keep(ValueId id) {
    const ClassId at = egraph_.find(terms_.classes.at(id));
    const ValueId made = new_value(source_.values[id].name, source_.values[id].type);
    values_.emplace(at, made);
    return made;
  }

  ValueId output(ValueId id) {
    const ClassId at = egraph_.find(terms_.classes.at(id));
    const std::string& name = source_.values[id].name;
    const ValueId made = value(at);
    if (result_.values[made].name == name && !is_leaf(at)) {
      result_.values[made].type = source_.values[id].type;
      return made;
    }
    if (result_.values[made].name == name) // an input or constant that is an output as well
      return made;
    const ValueId copy = new_value(name, source_.values[id].type);
    result_.nodes.push_back({unique_node_name("Identity"), "Identity", "", {made}, {copy}, {}});
    return copy;
  }

  /// A name for the value of a class; those of inputs and outputs are not given to others.
  std::string name_of_class(ClassId id) {
    if (const auto at = names_.find(id); at != names_.end())
      return at->second;
    const auto old = old_names_.find(id);
    if (old != old_names_.end() && taken_.count(old->second) == 0)
      return old->second;
    std::string name;
    do
      name = fmt::format("rewritten_{}", next_name_++);
    while (taken_.count(name) > 0);
    return name;
  }

  std::string unique_node_name(const std::string& wanted) {
    std::string name = wanted;
    for (int k = 1; !used_nodes_.insert(name).second; ++k)
      name = fmt::format("{}_{}", wanted, k);
    return name;
  }

  ValueId value(ClassId id) {
    id = egraph_.find(id);
    if (const auto at = values_.find(id); at != values_.end())
      return at->second;
    const ENode& node = chosen(id);
    const std::string& op = egraph_.op_name(node.op);
    if (op.rfind("output#", 0) == 0) {
      opaque(egraph_.find(node.operands[0]));
      return values_.at(id);
    }
    std::vector<ValueId> operands;
    for (const ClassId operand : node.operands)
      operands.push_back(value(operand));
    ValueId made = kAbsent;
    if (is_value(node)) {
      made = constant(id, op);
    } else {
      made = new_value(name_of_class(id), type_of(id));
      const std::string name = result_.values[made].name; // further values move it
      const auto old = node_names_.find(name);
      const NewConstant new_constant = [&](Tensor tensor) {
        const ValueId fresh = new_value(name + "_" + op, {});
        result_.initializers.emplace(fresh, std::move(tensor));
        return fresh;
      };
      Node written = node_from_term(op, egraph_.attributes(node.attributes), operands,
                                    *egraph_.at(id).type, opset(), new_constant);
      written.name = unique_node_name(old == node_names_.end() ? op + "_" + name : old->second);
      written.outputs = {made};
      result_.nodes.push_back(std::move(written));
    }
    values_.emplace(id, made);
    return made;
  }

  int64_t opset() const {
    const auto version = source_.opsets.find("");
    return version == source_.opsets.end() ? 1 : version->second;
  }

  ValueId constant(ClassId id, const std::string& op) {
    if (const auto number = number_from_name(op)) {
      Tensor tensor(number->first, {});
      tensor.set_double(0, number->second);
      const ValueId made = new_value(name_of_class(id), type_of(id));
      result_.initializers.emplace(made, std::move(tensor));
      return made;
    }
    const auto old = static_cast<ValueId>(number_in(op));
    const auto tensor = terms_.constants.find(old);
    KAWARA_CHECK(tensor != terms_.constants.end(), "an input was not kept");
    const ValueId made = new_value(source_.values[old].name, source_.values[old].type);
    result_.initializers.emplace(made, tensor->second);
    return made;
  }

  /// A node of the source, on new operands.
  void opaque(ClassId id) {
    if (!written_.insert(id).second)
      return;
    const ENode& whole = chosen(id);
    Node node = source_.nodes[number_in(egraph_.op_name(whole.op))];
    std::vector<ValueId> reads;
    for (const ClassId operand : whole.operands)
      reads.push_back(value(operand));
    size_t next = 0;
    for (ValueId& input : node.inputs)
      if (input != kAbsent)
        input = reads[next++];
    for (auto& [name, attribute] : node.attributes)
      if (auto* inner = std::get_if<graph::GraphPtr>(&attribute)) {
        Graph copy = **inner;
        for (graph::Capture& capture : copy.captures)
          capture.outer = reads[next++];
        *inner = std::make_shared<const Graph>(std::move(copy));
      }
    for (ValueId& output : node.outputs) {
      if (output == kAbsent)
        continue;
      const ValueId old = output;
      const ClassId at = egraph_.find(terms_.classes.at(old));
      const auto named = names_.find(at);
      const bool is_new = values_.count(at) == 0;
      std::string name = named != names_.end() && is_new ? named->second : source_.values[old].name;
      output = new_value(std::move(name), source_.values[old].type);
      if (is_new)
        values_.emplace(at, output);
    }
    node.name = unique_node_name(node.name);
    result_.nodes.push_back(std::move(node));
  }

  const Graph& source_;
  const Terms& terms_;
  const EGraph& egraph_;
  const Choice& choice_;
  Graph result_;
  std::map<ClassId, ValueId> values_;
  std::map<ClassId, std::string> names_, old_names_;
  std::map<std::string, std::string> node_names_;
  std::set<std::string> taken_, used_, used_nodes_;
  std::set<ClassId> written_;
  int next_name_ = 0;
};

} // namespace

Graph graph_from_terms(const Graph& source, const Terms& terms, const Choice& choice) {
  return GraphWriter(source, terms, choice).run();
}

} // namespace kawara::rewrite
