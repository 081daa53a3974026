#include "graph/optimise/passes.h"

#include "graph/optimise/edit.h"

namespace kawara::graph::optimise {

std::span<const Pass> passes() {
  static constexpr Pass kPasses[] = {
      {"fold_constants", "what depends on constants alone is computed", fold_constants},
      {"remove_identities", "nodes that only pass their input on go", remove_identities},
      {"join_views", "chains of views become as short as they can", join_views},
      {"merge_equal", "of nodes that compute the same, one stays", merge_equal},
      {"recognise_layer_norm", "a normalisation of rows, written out, is one node",
       recognise_layer_norm},
      {"recognise_activations", "Gelu, Swish, HardSwish, written out, are one node",
       recognise_activations},
      {"absorb_transposes", "a transposition before flattened rows goes into the next matrix",
       absorb_transposes},
      {"fold_affine", "scales and shifts go into the weights of convolutions", fold_affine},
      {"remove_dead", "what nobody reads goes", remove_dead},
  };
  return kPasses;
}

Optimised optimise(Graph graph, const Evaluate& evaluate) {
  Optimised out{std::move(graph), {}, {}};
  if (!has_all_operands(out.graph))
    return out;
  constexpr int kMostRounds = 4;
  for (int round = 0; round < kMostRounds; ++round) {
    bool is_changed = false;
    for (const Pass& pass : passes()) {
      const size_t before = out.graph.nodes.size();
      out.graph = pass.run(std::move(out.graph), evaluate);
      const size_t after = out.graph.nodes.size();
      if (after == before)
        continue;
      out.passes.push_back({pass.name, before, after});
      is_changed = true;
    }
    if (!is_changed)
      break;
  }
  return out;
}

} // namespace kawara::graph::optimise
