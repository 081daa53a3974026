#pragma once

#include "graph/optimise/edit.h"
#include "graph/optimise/value_types.h"
#include "graph/views/strided_view.h"

#include <optional>

namespace kawara::graph::optimise {

/// The value's extents with a prime for each symbol, so that views can be computed with them;
/// nothing where they are not known, or a number is a multiple of such a prime.
std::optional<Shape> extents_of(const ValueTypes&, ValueId);
/// Tells the types of such extents, if a type can have them: a symbol times a number cannot be
/// said.
void tell_extents(ValueTypes&, ValueId, DataType, const Shape& extents);
/// Is the extent free of symbols?
bool is_number(int64_t extent);

/// A value whose elements are those of another one, its base.
struct ValueView {
  ValueId base = kAbsent;
  views::StridedView view;
  std::vector<size_t> through; ///< nodes from the base to the value
};

/// The value as a view of what no view makes. Its own base where nothing is known of its maker, or
/// that moves elements as no view does; nothing where its extents are no numbers, or it has no
/// elements.
std::optional<ValueView> view_of(const Edit&, const ValueTypes&, ValueId);

/// Output `output` of the node, where its first operand is this view: nothing unless the node is
/// Reshape, Flatten, Squeeze, Unsqueeze, Transpose, Slice, Split, Expand, a Gather with constant
/// indices one after the other, or passes its operand on.
std::optional<views::StridedView> seen_through(const Edit&, const ValueTypes&, const Node&,
                                               size_t output, const views::StridedView&);

/// One of the operators that make a view.
struct ViewOp {
  const char* op;
  std::vector<std::vector<int64_t>>
      lists;    ///< operands behind the first, as the standard has them; of Transpose: the order
  Shape result; ///< as of `extents_of`
};
/// The steps on a base of these extents as operators; nothing where symbols leave more than one
/// extent of a Reshape open.
std::optional<std::vector<ViewOp>> view_ops(const views::ViewSteps&, Shape base);

/// Can such operators be written for this version of the standard?
bool may_write_views(const Graph&);
/// Adds the operators to `nodes`, the first reading the base, and gives their result: `result`, if
/// there is one and a node is needed. The name is a copy: the graph's own names move when values
/// are added.
ValueId write_view(Edit&, ValueTypes&, std::vector<Node>& nodes, ValueId base,
                   const std::vector<ViewOp>&, std::string name, ValueId result = kAbsent);

} // namespace kawara::graph::optimise
