#pragma once

#include "graph/optimise/edit.h"
#include "graph/optimise/value_types.h"

#include <functional>

namespace kawara::graph::optimise {

/// An order of dimensions. As the layout of a value: which of the region's dimensions comes first
/// in memory, which next.
using DimOrder = std::vector<int64_t>;

/// Dimension k of the result is dimension `second[k]` of what `first` made.
DimOrder after(const DimOrder& first, const DimOrder& second);
DimOrder inverse(const DimOrder&);

/// Somebody who reads a value, perhaps through transpositions.
struct LayoutDemand {
  std::optional<size_t>
      reader;     ///< a free node of the region; none: one that takes the value as it is written
  DimOrder order; ///< of the dimensions, from the value to what is read
  ValueId seen = kAbsent; ///< the value that is read
};

/// A value that no transposition makes.
struct LayoutSource {
  ValueId value = kAbsent;
  std::optional<size_t> maker; ///< a free node of the region
  DimOrder dims;      ///< number in the region of each dimension, in the order that is written
  double seconds = 0; ///< that one transposition takes
  std::vector<LayoutDemand> demands;
};

/// A node that computes the same in every order of dimensions.
struct FreeNode {
  size_t node = 0;
  DimOrder dims; ///< as of a source
};

/// Free nodes that hang together, directly or through transpositions, and the values around them.
/// Dimensions have one number in the whole region, wherever transpositions bring them.
struct LayoutRegion {
  std::vector<FreeNode> nodes;
  std::vector<LayoutSource> sources;
  size_t transposes = 0; ///< that lie inside
};

/// Regions with a transposition. A node is free when it works element by element, or along named
/// dimensions (Concat, Softmax, reductions that keep them), on operands of one rank and constants.
/// Regions in which a dimension would have two numbers are left out.
std::vector<LayoutRegion>
layout_regions(const Edit&, const ValueTypes&,
               const std::function<double(const rewrite::Type&)>& seconds);

/// Operands of a free node that are tensors of its rank: not constants.
std::vector<size_t> moving_operands(const Edit&, const Node&);

} // namespace kawara::graph::optimise
