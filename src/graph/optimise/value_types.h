#pragma once

#include "graph/rewrite/from_graph.h"

#include <vector>

namespace kawara::graph::optimise {

/// Element types and extents of a graph's values, as far as they can be known before it runs.
/// Values that are added later are told.
class ValueTypes {
public:
  explicit ValueTypes(const Graph& graph) : terms_(rewrite::terms_from_graph(graph)) {}

  const rewrite::Type* of(ValueId id) const {
    if (const auto told = told_.find(id); told != told_.end())
      return &told->second;
    const auto at = terms_.classes.find(id);
    if (at == terms_.classes.end())
      return nullptr;
    const auto& type = terms_.egraph.at(at->second).type;
    return type ? &*type : nullptr;
  }
  void tell(ValueId id, rewrite::Type type) { told_[id] = std::move(type); }

private:
  rewrite::Terms terms_;
  std::map<ValueId, rewrite::Type> told_;
};

} // namespace kawara::graph::optimise
