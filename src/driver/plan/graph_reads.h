#pragma once

#include "graph/graph.h"

namespace kawara::driver {

/// Calls `f` for every value that the node reads, also by its subgraphs.
template <class F> void for_each_read(const graph::Node& node, F f) {
  for (const graph::ValueId id : node.inputs)
    if (id != graph::kAbsent)
      f(id);
  for (const auto& [name, attribute] : node.attributes)
    if (const auto* inner = std::get_if<graph::GraphPtr>(&attribute))
      for (const graph::Capture& capture : (*inner)->captures)
        f(capture.outer);
}

} // namespace kawara::driver
