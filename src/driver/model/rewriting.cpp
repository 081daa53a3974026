#include "driver/model/rewriting.h"

#include "estimate/operator_cost.h"
#include "graph/optimise/channels_last.h"
#include "graph/optimise/choose_layout.h"
#include "graph/optimise/edit.h"
#include "graph/rewrite/rewrite.h"

#include <fmt/format.h>

namespace kawara::driver {
namespace {

/// Nodes from which the e-graph would cost more time than it is likely to save.
constexpr size_t kMostNodes = 4'000;
/// Nodes of the e-graph: a fraction of a second. No clock, so that the same graph comes out every
/// time.
constexpr size_t kMostENodes = 10'000;
/// Gains below this are guesses.
constexpr double kLeastGain = 0.002;

/// What a core of this width may do: two vector units, 3 GHz, and a usual bus.
estimate::Roof roof_of(const target::Cpu& cpu) {
  const double lanes = static_cast<double>(cpu.vector_bytes) / 4,
               cores = static_cast<double>(cpu.cores);
  return {2 * 2 * 3e9 * lanes * cores, 15e9 * cores};
}

/// Orders of dimensions that need the cheapest transpositions.
void choose_layout_in(graph::optimise::Optimised& out, const rewrite::Cost& cost,
                      const graph::optimise::Evaluate& evaluate) {
  const size_t before = out.graph.nodes.size();
  auto chosen = graph::optimise::choose_layout(std::move(out.graph), cost);
  out.graph = std::move(chosen.graph);
  for (const graph::optimise::LayoutChoice& choice : chosen.choices)
    out.notes.push_back(fmt::format("layout around `{}`: {} of {} nodes in another order of "
                                    "dimensions; transpositions {} -> {}, "
                                    "{:.1f} -> {:.1f} us",
                                    choice.first, choice.moved, choice.nodes, choice.before,
                                    choice.after, choice.seconds_before * 1e6,
                                    choice.seconds_after * 1e6));
  if (chosen.choices.empty())
    return;
  out.graph = graph::optimise::optimise(std::move(out.graph), evaluate).graph;
  out.passes.push_back({"choose_layout", before, out.graph.nodes.size()});
}

/// Proved rewriting, where it gains something, and what it leaves of constants computed.
void rewrite_in(graph::optimise::Optimised& out, const rewrite::Cost& cost,
                const graph::optimise::Evaluate& evaluate) {
  if (out.graph.nodes.size() > kMostNodes)
    return;
  rewrite::Limits limits;
  limits.nodes = kMostENodes;
  auto rewritten = rewrite::rewrite(out.graph, cost, limits, rewrite::Numerics::Rounding);
  if (!rewritten ||
      rewritten->statistics.cost_after >= rewritten->statistics.cost_before * (1 - kLeastGain))
    return;
  const size_t before = out.graph.nodes.size();
  auto again = graph::optimise::optimise(std::move(rewritten->graph), evaluate);
  out.graph = std::move(again.graph);
  out.passes.push_back({"rewrite", before, out.graph.nodes.size()});
}

void recognise_attention_in(graph::optimise::Optimised& out, const rewrite::Cost& cost,
                            const graph::optimise::Evaluate& evaluate,
                            graph::optimise::AttentionUse use) {
  const size_t before = out.graph.nodes.size();
  auto found = graph::optimise::recognise_attention(std::move(out.graph), use, cost);
  out.graph = std::move(found.graph);
  size_t taken = 0;
  for (const graph::optimise::AttentionChoice& choice : found.choices) {
    taken += choice.is_taken ? 1 : 0;
    out.notes.push_back(fmt::format("attention `{}`: {:.1f} us in parts, {:.1f} us {}: {}",
                                    choice.node, choice.apart * 1e6, choice.whole * 1e6,
                                    choice.is_flat ? "with heads side by side" : "as one node",
                                    choice.is_taken ? "one node" : "stays in parts"));
  }
  if (taken == 0)
    return;
  out.graph = graph::optimise::fold_constants(std::move(out.graph), evaluate);
  out.passes.push_back({"recognise_attention", before, out.graph.nodes.size()});
}

} // namespace

graph::optimise::Optimised optimised_and_rewritten(graph::Graph graph, const target::Cpu& cpu,
                                                   const graph::optimise::Evaluate& evaluate,
                                                   const GraphOptions& options) {
  graph::optimise::Optimised out = graph::optimise::optimise(std::move(graph), evaluate);
  if (!graph::optimise::has_all_operands(out.graph))
    return out;
  const rewrite::Cost cost = estimate::fused_cost(roof_of(cpu));
  if (options.chooses_layouts)
    choose_layout_in(out, cost, evaluate);
  rewrite_in(out, cost, evaluate);
  recognise_attention_in(out, cost, evaluate, options.attention);
  return out;
}

void choose_image_order(graph::optimise::Optimised& made, const target::Cpu& cpu) {
  /// Convolutions that pay for transposing one image.
  constexpr int64_t kForTransposition = 4;
  /// With shorter vectors pixels in lanes do as well: a register tile of them needs no filters
  /// beside each other.
  constexpr int64_t kWideVector = 64;
  if (cpu.vector_bytes < kWideVector)
    return;
  graph::ChannelsLastEffect effect =
      graph::try_channels_last(made.graph, graph::ChannelsLastForm::Padded);
  if (effect.convolutions == 0)
    return;
  const bool pays = effect.convolutions > kForTransposition * effect.transpositions;
  made.notes.push_back(fmt::format(
      "images with channels last: {} convolutions gain, {} images would be transposed: {}",
      effect.convolutions, effect.transpositions, pays ? "taken" : "left as written"));
  if (pays)
    made.graph = std::move(effect.graph);
}

} // namespace kawara::driver
