#include "driver/rewriting.h"

#include "estimate/operator_cost.h"
#include "graph/rewrite/rewrite.h"

namespace kawara::driver {
namespace {

/// Nodes from which the e-graph would cost more time than it is likely to save.
constexpr size_t kMostNodes = 4'000;
/// Nodes of the e-graph: a fraction of a second. No clock, so that the same graph comes out every time.
constexpr size_t kMostENodes = 10'000;
/// Gains below this are guesses.
constexpr double kLeastGain = 0.002;

/// What a core of this width may do: two vector units, 3 GHz, and a usual bus.
estimate::Roof roof_of(const target::Cpu& cpu) {
  const double lanes = static_cast<double>(cpu.vector_bytes) / 4,
               cores = static_cast<double>(cpu.cores);
  return {2 * 2 * 3e9 * lanes * cores, 15e9 * cores};
}

} // namespace

graph::optimise::Optimised optimised_and_rewritten(graph::Graph graph, const target::Cpu& cpu,
                                                   const graph::optimise::Evaluate& evaluate) {
  graph::optimise::Optimised out = graph::optimise::optimise(std::move(graph), evaluate);
  if (out.graph.nodes.size() > kMostNodes)
    return out;
  rewrite::Limits limits;
  limits.nodes = kMostENodes;
  auto rewritten = rewrite::rewrite(out.graph, estimate::fused_cost(roof_of(cpu)), limits,
                                    rewrite::Numerics::Rounding);
  if (!rewritten ||
      rewritten->statistics.cost_after >= rewritten->statistics.cost_before * (1 - kLeastGain))
    return out;
  const size_t before = out.graph.nodes.size();
  auto again = graph::optimise::optimise(std::move(rewritten->graph), evaluate);
  out.graph = std::move(again.graph);
  out.passes.push_back({"rewrite", before, out.graph.nodes.size()});
  return out;
}

} // namespace kawara::driver
