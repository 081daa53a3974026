#include "schedule/auto/facts/perfect_nest.h"

namespace kawara::schedule {

std::optional<Nest> perfect_nest_at(const poly::Order& order, poly::LoopId loop) {
  Nest nest;
  nest.depth = *poly::depth_of(order, loop);
  const poly::TreeNode* node = poly::find_node(order, loop);
  while (true) {
    nest.loops.push_back(node->loop());
    if (node->body.size() == 1 && node->body.front().is_loop()) {
      node = &node->body.front();
      continue;
    }
    for (const poly::TreeNode& child : node->body) {
      if (child.is_loop())
        return std::nullopt;
      nest.statements.push_back(child.statement());
    }
    return nest;
  }
}

} // namespace kawara::schedule
