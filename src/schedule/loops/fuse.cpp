#include "schedule/loops/fuse.h"

#include "schedule/codes.h"
#include "schedule/legality/request.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::TreeNode;

namespace {

/// The pairs of loops around the two, outermost first, that would have to be fused before.
std::vector<Directive> fusions_around(const Schedule& schedule, const Fuse& fuse, LoopId a,
                                      LoopId b) {
  const Order& order = schedule.order;
  const auto around = [&](LoopId loop) {
    std::vector<LoopId> loops;
    for (auto at = parent_of(order, loop); at; at = parent_of(order, *at))
      loops.insert(loops.begin(), *at);
    return loops;
  };
  const std::vector<LoopId> of_a = around(a), of_b = around(b);
  if (of_a.size() != of_b.size())
    return {};
  const std::string in_a = schedule.scop[poly::statements_below(order, a).front()].text.name;
  const std::string in_b = schedule.scop[poly::statements_below(order, b).front()].text.name;
  std::vector<Directive> steps;
  for (size_t d = 0; d < of_a.size(); ++d)
    if (of_a[d] != of_b[d])
      steps.push_back(Fuse{{in_a, order[of_a[d]].name}, {in_b, order[of_b[d]].name}});
  steps.push_back(Fuse{{in_a, fuse.a.loop}, {in_b, fuse.b.loop}});
  return steps;
}

/// Gives loops another name that have that of a loop around them.
void rename_loops(Order& order, std::vector<TreeNode>& nodes, std::vector<std::string> taken) {
  for (TreeNode& node : nodes) {
    if (!node.is_loop())
      continue;
    std::string& name = order[node.loop()].name;
    name = fresh_name(name, ".in", taken);
    taken.push_back(name);
    rename_loops(order, node.body, taken);
    taken.pop_back();
  }
}

struct Used {
  std::set<uint32_t> all, written;
};

Used used_by(const poly::Scop& scop, const TreeNode& node) {
  Used used;
  for (const poly::StmtId id : poly::statements_below(node)) {
    used.written.insert(scop[id].text.tensor);
    used.all.insert(scop[id].text.tensor);
    scalar::visit(scop[id].text.value, [&](const scalar::Expr& e) {
      if (const auto* load = scalar::as<scalar::Load>(e))
        used.all.insert(load->tensor);
    });
  }
  return used;
}

bool have_common(const std::set<uint32_t>& a, const std::set<uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint32_t tensor) { return b.contains(tensor); });
}

/// What stands between two nodes writes what the later one uses, and may come before the earlier
/// one.
bool belongs_before(const poly::Scop& scop, const std::vector<TreeNode>& sequence, size_t early,
                    size_t late) {
  const Used first = used_by(scop, sequence[early]), second = used_by(scop, sequence[late]);
  bool is_needed = false;
  for (size_t at = early + 1; at < late; ++at) {
    const Used between = used_by(scop, sequence[at]);
    if (have_common(between.written, first.all) || have_common(between.all, first.written))
      return false;
    is_needed |= have_common(between.written, second.all);
  }
  return is_needed;
}

} // namespace

Proposed propose(const Schedule& schedule, const Fuse& fuse, const Environment&) {
  const std::string request = request_of(fuse);
  KAWARA_TRY(const LoopId a, resolve_loop(schedule, fuse.a, request));
  KAWARA_TRY(const LoopId b, resolve_loop(schedule, fuse.b, request));
  Order order = schedule.order;
  if (a == b)
    return fail(shape_refusal(kNamedTwice, request + ": they are one loop already", order[a].where,
                              "this loop"));
  for (const LoopId loop : {a, b})
    if (auto refused = refuse_if_bound(order, loop, request))
      return fail(*std::move(refused));
  if (parent_of(order, a) != parent_of(order, b)) {
    Refusal::Shape refusal =
        shape_refusal(kNotSiblings, request + ": they do not stand inside the same loops",
                      order[b].where, "has other loops around it",
                      {"Two loops can become one only when every loop around them is shared."});
    if (const auto steps = fusions_around(schedule, fuse, a, b); steps.size() > 1)
      refusal.ways_out.push_back(steps);
    return fail(std::move(refusal));
  }
  std::vector<TreeNode>& sequence = *place_of(order, a).sequence;
  const size_t at_a = place_of(order, a).index, at_b = place_of(order, b).index;
  const size_t early = std::min(at_a, at_b), late = std::max(at_a, at_b);
  const bool stays_late = belongs_before(schedule.scop, sequence, early, late);
  // The name of a may be the one of a loop inside b.
  rename_loops(order, sequence[at_b].body, {order[a].name});
  std::vector<TreeNode> moved = std::move(sequence[late].body);
  sequence.erase(sequence.begin() + static_cast<std::ptrdiff_t>(late));
  TreeNode& fused = sequence[early];
  fused.what = a;
  std::move(moved.begin(), moved.end(), std::back_inserter(fused.body));
  if (stays_late)
    std::rotate(sequence.begin() + static_cast<std::ptrdiff_t>(early),
                sequence.begin() + static_cast<std::ptrdiff_t>(early + 1),
                sequence.begin() + static_cast<std::ptrdiff_t>(late));
  if (order[a].tile_size != order[b].tile_size) {
    order[a].tile_size = 0;
    order[a].marks.is_isolated = false;
  }
  return with_order(schedule, std::move(order));
}

} // namespace kawara::schedule
