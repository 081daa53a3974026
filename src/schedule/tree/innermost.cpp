#include "schedule/tree/innermost.h"

#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::TreeNode;

const TreeNode* loop_inside(const Order& order, LoopId loop) {
  for (const TreeNode& child : poly::find_node(order, loop)->body)
    if (child.is_loop())
      return &child;
  return nullptr;
}

std::optional<Refusal::Shape> refuse_outer_vector_loop(const poly::Scop& scop, const Order& order,
                                                       std::string_view request) {
  for (const LoopId loop : poly::loops_in_order(order)) {
    if (order[loop].marks.vector_width == 0)
      continue;
    if (const TreeNode* inside = loop_inside(order, loop))
      return shape_refusal(kNotInnermost,
                           std::string(request) + ": the vector loop " +
                               quoted(name_of_loop(scop, order, loop)) +
                               " would have a loop inside",
                           order[inside->loop()].where, "would stand inside a vector loop",
                           {"A vector loop must stay innermost. Vectorize last."});
  }
  return std::nullopt;
}

} // namespace kawara::schedule
