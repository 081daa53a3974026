#include "driver/plan/unknown_operators.h"

#include "driver/plan/control_flow.h"
#include "graph/attribute_table.h"
#include "graph/errors.h"
#include "program/operators/registry.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::driver {
namespace {

/// Nodes of one unknown operator.
struct Unknown {
  std::string op, domain, first; ///< first: its node
  int64_t nodes = 0;

  std::string name() const {
    return (domain.empty() ? "" : printable(domain) + ".") + printable(op);
  }
};

void collect(const graph::Graph& graph, std::vector<Unknown>& found) {
  for (const graph::Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<graph::GraphPtr>(&attribute))
        collect(**inner, found);
    if (is_known_operator(node))
      continue;
    auto at = std::find_if(found.begin(), found.end(), [&](const Unknown& other) {
      return other.op == node.op && other.domain == node.domain;
    });
    if (at == found.end())
      at = found.insert(found.end(), {node.op, node.domain, node.name, 0});
    ++at->nodes;
  }
}

/// Operators of the standard: those of the table, which has none that only passes make.
std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const graph::AttributeRow& row : graph::attribute_rows())
    if (names.empty() || names.back() != row.op)
      names.emplace_back(row.op);
  return names;
}

} // namespace

bool is_known_operator(const graph::Node& node) {
  return node.domain.empty() && (program::operators::find_operator(node.op) != nullptr ||
                                 run::find_function(node.op) != nullptr || is_control_flow(node));
}

Diagnostic unknown_operators(const graph::Graph& graph) {
  std::vector<Unknown> found;
  collect(graph, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const Unknown& a, const Unknown& b) { return a.nodes > b.nodes; });
  Diagnostic d = graph::model_error(
      "K0510",
      found.size() == 1 ? fmt::format("`{}` uses the operator `{}`, which Kawara does not know",
                                      printable(graph.name), found[0].name())
                        : fmt::format("`{}` uses {} operators that Kawara does not know",
                                      printable(graph.name), found.size()),
      "", "");
  const std::vector<std::string> known = known_names();
  std::vector<std::string> lines;
  bool has_domain = false;
  for (const Unknown& unknown : found) {
    lines.push_back(unknown.nodes == 1
                        ? fmt::format("{}: node `{}`", unknown.name(), printable(unknown.first))
                        : fmt::format("{}: {} nodes, first `{}`", unknown.name(), unknown.nodes,
                                      printable(unknown.first)));
    if (std::find(known.begin(), known.end(), unknown.op) != known.end())
      lines.back() += fmt::format("; the standard has an operator {}", unknown.op);
    else if (const auto meant = closest(unknown.op, known))
      lines.back() += fmt::format("; the nearest that is known is {}", *meant);
    has_domain = has_domain || !unknown.domain.empty();
  }
  if (has_domain)
    lines.emplace_back("Only operators of the ONNX standard itself are known.");
  d.body.push_back(join(lines, "\n"));
  return d;
}

} // namespace kawara::driver
