#pragma once

#include "graph/graph.h"
#include "graph/rewrite/rule.h"

#include <cstdint>
#include <optional>

namespace kawara::rules {

/// One instance of a rule with numbers: a graph whose outputs are the left sides, then the right
/// sides.
struct Sample {
  graph::Graph graph;
  size_t sides = 1;
};

/// Random small shapes and attributes for which the rule applies; nothing when none was found.
std::optional<Sample> sample(const rewrite::Rule&, uint64_t seed, int attempts = 30'000);

/// Inputs of a graph from a seed: multiples of 1/8 between -2 and 2, or positive ones.
std::map<graph::ValueId, graph::Tensor> random_inputs(const graph::Graph&, uint64_t seed,
                                                      bool positive);

/// Runs samples of a rule through the operators' programs. Exact rules must agree bit by bit,
/// others up to 1e-4 of the largest element. Returns how many samples agreed, or the text of the
/// first that did not.
struct NumericCheck {
  int agreed = 0;
  std::string failure;
};
NumericCheck check_numerically(const rewrite::Rule&, int samples, uint64_t seed);

} // namespace kawara::rules
