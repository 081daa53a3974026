#include "schedule/tree/nest.h"

#include "schedule/codes.h"
#include "schedule/tree/resolve.h"
#include "support/check.h"

#include <algorithm>
#include <map>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::StmtId;
using poly::TreeNode;

namespace {

bool find_place(std::vector<TreeNode>& sequence, LoopId loop, Place& place) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    if (sequence[i].is_loop() && sequence[i].loop() == loop) {
      place = {&sequence, i};
      return true;
    }
    if (find_place(sequence[i].body, loop, place))
      return true;
  }
  return false;
}

bool find_parent(const std::vector<TreeNode>& sequence, std::optional<LoopId> around, LoopId loop,
                 std::optional<LoopId>& parent) {
  for (const TreeNode& node : sequence) {
    if (!node.is_loop())
      continue;
    if (node.loop() == loop) {
      parent = around;
      return true;
    }
    if (find_parent(node.body, node.loop(), loop, parent))
      return true;
  }
  return false;
}

Refusal::Shape not_nested(const Schedule& schedule, LoopId a, LoopId b, std::string_view request) {
  const auto name = [&](LoopId id) {
    return quoted(name_of_loop(schedule.scop, schedule.order, id));
  };
  return shape_refusal(kNotNested,
                       std::string(request) + ": " + name(b) + " and " + name(a) +
                           " are not nested in each other",
                       schedule.order[b].where, "stands beside " + name(a));
}

std::string what_is(const Schedule& schedule, const TreeNode& node) {
  if (!node.is_loop())
    return "`" + schedule.scop[node.statement()].text.name + "`";
  return "loop " + quoted(name_of_loop(schedule.scop, schedule.order, node.loop()));
}

Span span_of(const Schedule& schedule, const TreeNode& node) {
  return node.is_loop() ? schedule.order[node.loop()].where
                        : schedule.scop[node.statement()].text.where;
}

/// What stands in the body of `outer` beside `next`, on the way down through `loops`.
Refusal::Shape imperfect(const Schedule& schedule, LoopId outer, LoopId next,
                         const std::vector<LoopId>& loops, const Directive& directive,
                         std::string_view request) {
  const Order& order = schedule.order;
  const TreeNode* node = poly::find_node(order, outer);
  const TreeNode* between = nullptr;
  for (const TreeNode& child : node->body)
    if (!child.is_loop() || child.loop() != next) {
      between = &child;
      break;
    }
  KAWARA_CHECK(between, "a nest that is not perfect has something between");
  const LoopName outer_name = name_of_loop(schedule.scop, order, outer);
  const std::string pair =
      quoted(outer_name) + " and " + quoted(name_of_loop(schedule.scop, order, next));
  const std::string what = what_is(schedule, *between);
  Refusal::Shape refusal = shape_refusal(kImperfectNest, std::string(request),
                                         span_of(schedule, *between), "stands between " + pair,
                                         {"Only loops of a perfect nest can change places: here " +
                                          what + " stands between " + pair + "."});
  const std::string& statement =
      schedule.scop[poly::statements_below(order, loops.back()).front()].text.name;
  refusal.ways_out.push_back({Distribute{name_of_loop(schedule.scop, order, loops.front())},
                              qualified_by(directive, statement)});
  return refusal;
}

} // namespace

Place place_of(Order& order, LoopId loop) {
  Place place;
  const bool found = find_place(order.body, loop, place);
  KAWARA_CHECK(found, "loop " + order[loop].name + " is not in the tree");
  return place;
}

std::optional<LoopId> parent_of(const Order& order, LoopId loop) {
  std::optional<LoopId> parent;
  const bool found = find_parent(order.body, std::nullopt, loop, parent);
  KAWARA_CHECK(found, "loop " + order[loop].name + " is not in the tree");
  return parent;
}

bool is_inside(const Order& order, LoopId inner, LoopId outer) {
  for (auto at = parent_of(order, inner); at; at = parent_of(order, *at))
    if (*at == outer)
      return true;
  return false;
}

std::set<uint32_t> iterators_of(const scalar::Expr& e) {
  std::set<uint32_t> found;
  scalar::visit(e, [&](const scalar::Expr& n) {
    if (const auto* it = scalar::as<scalar::Iter>(n))
      found.insert(it->index);
  });
  return found;
}

std::vector<poly::LoopId> child_loops(const std::vector<poly::TreeNode>& body) {
  std::vector<poly::LoopId> loops;
  for (const poly::TreeNode& node : body)
    if (node.is_loop())
      loops.push_back(node.loop());
  return loops;
}

std::vector<LoopId> unit_of(const Order& order, LoopId loop) {
  std::vector<LoopId> unit{loop};
  const TreeNode* node = poly::find_node(order, loop);
  while (node && node->body.size() == 1 && node->body[0].is_loop() &&
         order[node->body[0].loop()].is_coalesced_into_parent) {
    node = &node->body[0];
    unit.push_back(node->loop());
  }
  return unit;
}

Result<std::vector<LoopId>, Refusal::Shape> perfect_nest(const Schedule& schedule,
                                                         const std::vector<LoopId>& loops,
                                                         const Directive& directive,
                                                         std::string_view request) {
  const Order& order = schedule.order;
  std::vector<LoopId> sorted = loops;
  std::sort(sorted.begin(), sorted.end(), [&](LoopId a, LoopId b) {
    return std::pair(*poly::depth_of(order, a), a) < std::pair(*poly::depth_of(order, b), b);
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] == sorted[i - 1])
      return fail(shape_refusal(kNamedTwice,
                                std::string(request) + ": " +
                                    quoted(name_of_loop(schedule.scop, order, sorted[i])) +
                                    " is named twice",
                                order[sorted[i]].where, "named twice"));
    if (!is_inside(order, sorted[i], sorted[i - 1]))
      return fail(not_nested(schedule, sorted[i - 1], sorted[i], request));
  }
  const LoopId inner = sorted.back();
  std::vector<LoopId> nest = unit_of(order, inner);
  for (LoopId at = inner; at != sorted.front();) {
    const LoopId around = *parent_of(order, at);
    if (poly::find_node(order, around)->body.size() != 1)
      return fail(imperfect(schedule, around, at, sorted, directive, request));
    nest.insert(nest.begin(), around);
    at = around;
  }
  return nest;
}

Order with_nest_permuted(Order order, const std::vector<LoopId>& nest,
                         const std::vector<LoopId>& permuted) {
  KAWARA_CHECK(nest.size() == permuted.size(), "a permutation keeps the number of loops");
  const size_t depth = *poly::depth_of(order, nest.front());
  const Place place = place_of(order, nest.front());
  const std::vector<StmtId> below = poly::statements_below(place.node());
  TreeNode* innermost = &place.node();
  std::map<LoopId, size_t> old_position;
  for (size_t p = 0; p < nest.size(); ++p)
    old_position[nest[p]] = p;
  innermost->what = permuted[0];
  for (size_t p = 1; p < permuted.size(); ++p) {
    innermost = &innermost->body[0];
    innermost->what = permuted[p];
  }
  for (const StmtId statement : below) {
    std::vector<scalar::Expr>& rows = order.rows[statement.value];
    const std::vector<scalar::Expr> old = rows;
    for (size_t p = 0; p < permuted.size(); ++p)
      rows[depth + p] = old[depth + old_position.at(permuted[p])];
  }
  return order;
}

Directive qualified_by(Directive directive, const std::string& statement) {
  const auto set = [&](LoopName& name) { name.statement = statement; };
  std::visit(
      [&](auto& d) {
        if constexpr (requires { d.loops[0].second; })
          for (auto& [name, size] : d.loops)
            set(name);
        else if constexpr (requires { d.loops; })
          for (LoopName& name : d.loops)
            set(name);
        else if constexpr (requires { d.a; })
          set(d.a), set(d.b);
        else if constexpr (requires { d.outer; })
          set(d.outer), set(d.inner);
        else if constexpr (requires { d.loop->loop; }) {
          if (d.loop)
            set(*d.loop);
        } else if constexpr (requires { d.loop; })
          set(d.loop);
        if constexpr (requires { d.by.loop; })
          set(d.by);
      },
      directive);
  return directive;
}

std::optional<Refusal::Shape> refuse_as_place(const Order& order, LoopId loop,
                                              std::string_view request) {
  const poly::OrderLoop& l = order[loop];
  const auto refused = [&](const std::string& why, const std::string& advice) {
    return shape_refusal(kAlreadyMarked, std::string(request) + ": `" + l.name + "` " + why,
                         l.where, why, {advice});
  };
  if (l.marks.vector_width != 0)
    return refused("is a vector loop",
                   "Ask for this first and vectorize the loop that comes out of it.");
  if (!l.marks.instruction.empty())
    return refused("runs as an instruction",
                   "Ask for this first and tensorize the loop that comes out of it.");
  if (l.marks.unroll != 0)
    return refused("is an unrolled loop",
                   "Ask for this first and unroll the loop that comes out of it.");
  if (unit_of(order, loop).size() > 1)
    return refused("is a coalesced loop",
                   "Ask for this before the loops are coalesced, or fix the sizes (-p) so that the "
                   "inner extent is a constant and split it.");
  return std::nullopt;
}

std::optional<Refusal::Shape> refuse_if_bound(const Order& order, LoopId loop,
                                              std::string_view request) {
  const poly::OrderLoop& l = order[loop];
  if (l.marks.axis == poly::Axis::None)
    return refuse_as_place(order, loop, request);
  const std::string why = "is bound to " + std::string(poly::name_of(l.marks.axis));
  return shape_refusal(kAlreadyMarked, std::string(request) + ": `" + l.name + "` " + why, l.where,
                       why, {"Ask for this first and bind the loop that comes out of it."});
}

} // namespace kawara::schedule
