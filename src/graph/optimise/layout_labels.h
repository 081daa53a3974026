#pragma once

#include "graph/optimise/layout_region.h"

namespace kawara::graph::optimise {

/// What it costs besides transpositions when a node works in a layout.
using NodeSeconds = std::function<double(const FreeNode&, const DimOrder& layout)>;

/// A layout for every free node of a region.
struct LayoutLabels {
  std::vector<DimOrder> of_nodes;
  double seconds = 0;
  size_t transposes = 0;
};

/// As the region is written.
LayoutLabels written_labels(const LayoutRegion&, const NodeSeconds&);

/// The labels that cost least. Between two layouts a minimal cut gives the best of all; with more,
/// pairs of them are exchanged as long as that helps.
LayoutLabels cheapest_labels(const LayoutRegion&, const NodeSeconds&);

} // namespace kawara::graph::optimise
