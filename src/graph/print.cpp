#include "graph/graph.h"

#include "support/text.h"

#include <fmt/format.h>

namespace kawara::graph {
namespace {

std::string number(double value) { return fmt::format("{:.7g}", value); }

/// A tensor with its elements when they are few.
std::string brief(const Tensor& tensor) {
  constexpr int64_t most = 8;
  std::string text = std::string(name_of(tensor.type())) + text_of(tensor.shape());
  if (tensor.elements() > most)
    return text;
  std::vector<std::string> elements;
  for (int64_t k = 0; k < tensor.elements(); ++k)
    elements.push_back(number(tensor.get_double(k)));
  return text + " {" + join(elements, ", ") + "}";
}

template <class T, class F> std::string list(const std::vector<T>& items, F each) {
  std::vector<std::string> parts;
  for (const T& item : items)
    parts.push_back(each(item));
  return "[" + join(parts, ", ") + "]";
}

class Printer {
public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  void print(const std::string& indent) {
    for (const ValueId id : graph_.inputs)
      line(indent, "input  " + name(id) + ": " + graph::text_of(graph_.values[id].type));
    for (const Capture& capture : graph_.captures)
      line(indent, "outer  " + name(capture.inner));
    for (const auto& [id, tensor] : graph_.initializers)
      line(indent, "const  " + name(id) + ": " + brief(tensor));
    for (const Node& node : graph_.nodes)
      print(node, indent);
    for (const ValueId id : graph_.outputs)
      line(indent, "output " + name(id) + ": " + graph::text_of(graph_.values[id].type));
  }
  std::string text;

private:
  void line(const std::string& indent, const std::string& content) {
    text += indent + content + "\n";
  }
  std::string name(ValueId id) const {
    return id == kAbsent ? "_" : printable(graph_.values[id].name);
  }
  std::string names(const std::vector<ValueId>& ids) const {
    std::vector<std::string> parts;
    for (const ValueId id : ids)
      parts.push_back(name(id));
    return join(parts, ", ");
  }
  void print(const Node& node, const std::string& indent) {
    std::vector<std::string> parts;
    if (!node.inputs.empty())
      parts.push_back(names(node.inputs));
    for (const auto& [key, value] : node.attributes)
      parts.push_back(printable(key) + "=" + text_of_attribute(value));
    const std::string domain = node.domain.empty() ? "" : printable(node.domain) + ".";
    line(indent, fmt::format("{} = {}{}({})", names(node.outputs), domain, printable(node.op),
                             join(parts, ", ")));
    for (const auto& [key, value] : node.attributes)
      if (const auto* inner = std::get_if<GraphPtr>(&value)) {
        line(indent, "  " + key + ":");
        Printer printer(**inner);
        printer.print(indent + "    ");
        text += printer.text;
      }
  }
  const Graph& graph_;
};

} // namespace

std::string text_of_attribute(const Attribute& attribute) {
  struct Printer {
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::string& v) const { return "\"" + printable(v) + "\""; }
    std::string operator()(const Tensor& v) const { return brief(v); }
    std::string operator()(const GraphPtr& v) const {
      return fmt::format("graph of {} nodes", v->nodes.size());
    }
    std::string operator()(const std::vector<int64_t>& v) const { return graph::text_of(v); }
    std::string operator()(const std::vector<double>& v) const { return list(v, number); }
    std::string operator()(const std::vector<std::string>& v) const {
      return list(v, [](const std::string& s) { return "\"" + printable(s) + "\""; });
    }
    std::string operator()(const std::vector<Tensor>& v) const { return list(v, brief); }
  };
  return std::visit(Printer{}, attribute);
}

std::string_view kind_of(const Attribute& attribute) {
  constexpr std::string_view kinds[] = {
      "an integer",         "a number",          "a text",          "a tensor",         "a graph",
      "a list of integers", "a list of numbers", "a list of texts", "a list of tensors"};
  return kinds[attribute.index()];
}

std::string text_of(const ValueType& type) {
  if (type.kind != ValueType::Kind::Tensor)
    return type.kind == ValueType::Kind::Sequence ? "sequence" : "optional";
  std::string text = type.elem ? std::string(name_of(*type.elem)) : "?";
  if (!type.shape)
    return text + "[...]";
  std::vector<std::string> dims;
  for (const Dim& dim : *type.shape)
    dims.push_back(dim.size ? std::to_string(*dim.size)
                            : (dim.symbol.empty() ? "?" : printable(dim.symbol)));
  return text + "[" + join(dims, ", ") + "]";
}

std::string print(const Graph& graph) {
  std::string text = "graph " + printable(graph.name) + "\n";
  for (const auto& [domain, version] : graph.opsets)
    text += fmt::format("opset  {}{}{}\n", printable(domain), domain.empty() ? "" : " ", version);
  Printer printer(graph);
  printer.print("");
  return text + printer.text;
}

} // namespace kawara::graph
