#include "graph/rewrite/rewrite.h"

#include "graph/errors.h"
#include "graph/rewrite/join_slices.h"
#include "graph/rewrite/to_graph.h"
#include "support/check.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::rewrite {
namespace {

/// The source's own nodes as a choice. Of several in one class the first is taken: it reads values
/// that were made before, so there is no cycle.
std::vector<size_t> source_choice(const Terms& terms) {
  const EGraph& egraph = terms.egraph;
  const auto classes = egraph.classes();
  std::vector<size_t> choice(classes.empty() ? 0 : classes.back() + size_t{1}, 0);
  for (size_t k = terms.originals.size(); k-- > 0;) {
    const ClassId id = egraph.find(static_cast<ClassId>(k));
    const auto& nodes = egraph.at(id).nodes;
    const auto at = std::find(nodes.begin(), nodes.end(), egraph.canonical(terms.originals[k]));
    KAWARA_CHECK(at != nodes.end(), "a node of the source is gone");
    choice[id] = static_cast<size_t>(at - nodes.begin());
  }
  return choice;
}

std::vector<ClassId> roots_of(const graph::Graph& graph, const Terms& terms) {
  std::vector<ClassId> roots;
  for (const graph::ValueId id : graph.outputs)
    roots.push_back(terms.egraph.find(terms.classes.at(id)));
  return roots;
}

} // namespace

Result<Rewritten, Diagnostic> rewrite(const graph::Graph& graph, const Cost& cost,
                                      const Limits& limits, Numerics numerics,
                                      const std::vector<Rule>& rules) {
  bool is_fine = true;
  const Cost checked = [&](const Application& application) {
    const double value = cost(application);
    is_fine = is_fine && std::isfinite(value) && value >= 0;
    return is_fine ? value : 0.0;
  };
  Terms terms = terms_from_graph(graph);
  Rewritten result;
  Statistics& statistics = result.statistics;
  statistics.nodes_before = graph.nodes.size();
  const std::vector<ClassId> roots = roots_of(graph, terms);
  statistics.cost_before = cost_of_choice(terms.egraph, roots, source_choice(terms), checked);
  statistics.saturation = saturate(terms.egraph, rules, numerics, limits);
  statistics.e_nodes = terms.egraph.nodes();
  statistics.e_classes = terms.egraph.classes().size();
  const Choice choice = extract(terms.egraph, roots, source_choice(terms), checked);
  if (!is_fine)
    return fail(
        graph::model_error("K0581", "the cost of a node is no number of at least 0",
                           "Of equal graphs the cheapest is taken, so every node needs a cost.",
                           "give a cost function with finite values"));
  statistics.cost_after = choice.cost;
  statistics.is_proved_best = choice.is_proved_best;
  result.graph = join_slices(graph_from_terms(graph, terms, choice));
  statistics.nodes_after = result.graph.nodes.size();
  const auto broken = graph::spec(result.graph);
  KAWARA_CHECK(broken.empty(), join(broken, "; "));
  return result;
}

std::string print(const Statistics& s) {
  std::string text = fmt::format("nodes   {} -> {}\n", s.nodes_before, s.nodes_after);
  text += fmt::format("cost    {:.4g} -> {:.4g}{}\n", s.cost_before, s.cost_after,
                      s.is_proved_best ? "  (the least in the e-graph)" : "");
  text += fmt::format("e-graph {} nodes in {} classes after {} iterations: {}\n", s.e_nodes,
                      s.e_classes, s.saturation.iterations, name_of(s.saturation.end));
  for (const auto& [rule, count] : s.saturation.fired)
    text += fmt::format("rule    {:<36} {}\n", rule, count);
  return text;
}

} // namespace kawara::rewrite
