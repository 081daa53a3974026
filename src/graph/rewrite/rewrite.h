#pragma once

#include "graph/rewrite/extract.h"
#include "graph/rewrite/saturate.h"

namespace kawara::rewrite {

/// What rewriting did.
struct Statistics {
  double cost_before = 0, cost_after = 0;   ///< by the given cost function; each node counted once
  size_t nodes_before = 0, nodes_after = 0; ///< of the graph
  size_t e_nodes = 0, e_classes = 0;
  bool is_proved_best = false; ///< no cheaper graph is in the e-graph
  Saturation saturation;
};

struct Rewritten {
  graph::Graph graph;
  Statistics statistics;
};

/// The cheapest graph that equals the given one by the rules that `numerics` allows.
///
/// Rules apply where types are known: those of inputs and initializers, declared types of other
/// values, and what follows from them through the operators that rules know. Names of inputs and
/// outputs stay; subgraphs and nodes of other operators are moved, never changed. The result is the
/// same in every run unless `limits.is_over` stops it.
///
/// Refuses a cost function that gives no number (K0581).
Result<Rewritten, Diagnostic> rewrite(const graph::Graph&, const Cost&, const Limits&,
                                      Numerics numerics,
                                      const std::vector<Rule>& rules = standard_rules());

/// Text for people: costs, sizes, one line per rule that fired.
std::string print(const Statistics&);

} // namespace kawara::rewrite
