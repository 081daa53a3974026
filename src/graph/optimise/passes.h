#pragma once

#include "graph/graph.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kawara::graph::optimise {

/// Results of a node whose inputs are constants (an absent one has no elements); nothing when it
/// cannot be computed.
using Evaluate = std::function<std::optional<std::vector<Tensor>>(
    const Graph&, const Node&, const std::vector<Tensor>& inputs)>;

/// A change of a graph that keeps its inputs, its outputs and what they mean.
struct Pass {
  std::string_view name;
  std::string_view what; ///< for people
  Graph (*run)(Graph, const Evaluate&);
};

/// All passes, in the order in which they run.
std::span<const Pass> passes();

/// How a pass changed the number of nodes.
struct PassResult {
  std::string_view name;
  size_t before, after;
};

struct Optimised {
  Graph graph;
  std::vector<PassResult> passes; ///< those that changed something
  std::vector<std::string> notes; ///< for people: what was decided by cost, and why
};

/// The graph after all passes, again and again until none makes it smaller. Subgraphs stay as they
/// are, and so does a graph with a node that lacks operands (`has_all_operands`).
Optimised optimise(Graph, const Evaluate&);

// The passes one by one.

/// Nodes with constant inputs become constants, as do Constant nodes.
Graph fold_constants(Graph, const Evaluate&);
/// Identity, Dropout, Transpose into the same order, times 1, plus 0: their readers read their
/// input.
Graph remove_identities(Graph, const Evaluate&);
/// Nodes and constants that nobody reads go.
Graph remove_dead(Graph, const Evaluate&);
/// Chains of Reshape, Transpose, Slice, Expand and their like become the shortest that sees the
/// same elements.
Graph join_views(Graph, const Evaluate&);
/// Of nodes that compute the same, one stays.
Graph merge_equal(Graph, const Evaluate&);
/// Normalisation with known statistics, products and sums with one constant per channel go into the
/// weights and the bias of the convolution before them; a scale before a convolution goes into its
/// weights.
Graph fold_affine(Graph, const Evaluate&);
/// x * sigmoid(x), x * hard_sigmoid(x), Gelu in both forms, written out, become one node.
Graph recognise_activations(Graph, const Evaluate&);
/// A normalisation of rows, written out, becomes one node.
Graph recognise_layer_norm(Graph, const Evaluate&);

/// A transposition before rows that are multiplied by constant matrices goes into these.
Graph absorb_transposes(Graph, const Evaluate&);

/// Products of dequantised bytes with a constant matrix become products of bytes, whose sums are
/// scaled: before constants are folded, which would leave floats. For processors that multiply
/// bytes faster than floats.
Graph multiply_bytes(Graph);

} // namespace kawara::graph::optimise
