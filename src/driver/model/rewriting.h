#pragma once

#include "graph/optimise/attention/recognise_attention.h"
#include "graph/optimise/passes.h"
#include "target/cpu.h"

namespace kawara::driver {

/// What is asked of the passes that decide by cost.
struct GraphOptions {
  graph::optimise::AttentionUse attention = graph::optimise::AttentionUse::ByCost;
  bool chooses_layouts = true; ///< graph/optimise/choose_layout.h
};

/// The graph after the choice of layouts and proved rewriting (graph/rewrite) for this machine,
/// with the passes before and after it: what rewriting leaves of constants is computed. Then
/// attention that is written out becomes one node (graph/optimise/attention/recognise_attention.h).
/// Never dearer by the estimate of graphs whose element-wise nodes are fused; the graph stays as it
/// was where nothing is gained. Takes a fraction of a second, also for graphs of thousands of
/// nodes.
graph::optimise::Optimised optimised_and_rewritten(graph::Graph, const target::Cpu&,
                                                   const graph::optimise::Evaluate&,
                                                   const GraphOptions& = {});

/// Images between convolutions get their channels last where this machine gains by it and few of
/// them have to be transposed for that (graph/optimise/channels_last.h).
void choose_image_order(graph::optimise::Optimised&, const target::Cpu&);

} // namespace kawara::driver
