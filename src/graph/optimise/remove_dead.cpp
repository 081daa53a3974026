#include "graph/optimise/edit.h"
#include "graph/optimise/passes.h"

#include <algorithm>

namespace kawara::graph::optimise {

Graph remove_dead(Graph graph, const Evaluate&) {
  std::vector<bool> is_read(graph.values.size(), false);
  for (const ValueId id : graph.outputs)
    is_read[id] = true;
  std::vector<Node> left;
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    Node& node = graph.nodes[n];
    const bool is_wanted = std::any_of(node.outputs.begin(), node.outputs.end(),
                                       [&](ValueId id) { return id != kAbsent && is_read[id]; });
    if (!is_wanted)
      continue;
    for (const ValueId id : node.inputs)
      if (id != kAbsent)
        is_read[id] = true;
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<GraphPtr>(&attribute))
        for (const Capture& capture : (*inner)->captures)
          is_read[capture.outer] = true;
    left.push_back(std::move(node));
  }
  std::reverse(left.begin(), left.end());
  graph.nodes = std::move(left);
  for (auto at = graph.initializers.begin(); at != graph.initializers.end();)
    at = is_read[at->first] ? std::next(at) : graph.initializers.erase(at);
  return graph;
}

} // namespace kawara::graph::optimise
