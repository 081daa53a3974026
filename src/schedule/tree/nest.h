#pragma once

#include "schedule/propose.h"

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace kawara::schedule {

/// Where a loop stands: `sequence[index]` is its node.
struct Place {
  std::vector<poly::TreeNode>* sequence = nullptr;
  size_t index = 0;
  poly::TreeNode& node() const { return (*sequence)[index]; }
};
Place place_of(poly::Order&, poly::LoopId);

std::optional<poly::LoopId> parent_of(const poly::Order&, poly::LoopId);
bool is_inside(const poly::Order&, poly::LoopId inner, poly::LoopId outer);

/// Iterators of the statement that stand in an expression.
std::set<uint32_t> iterators_of(const scalar::Expr&);

/// The loops among the nodes of a body, in their order.
std::vector<poly::LoopId> child_loops(const std::vector<poly::TreeNode>& body);

/// The loop and the loops that run as one with it (coalesce), outermost first.
std::vector<poly::LoopId> unit_of(const poly::Order&, poly::LoopId);

/// All loops from the outermost of `loops` down to the innermost, in tree order, when each stands
/// alone in the body of the one around it. `directive` is what was asked for, `request` how the
/// headline begins.
///
/// Refuses  a loop named twice (K0220), loops not nested in each other (K0211), a statement or a
/// second
///          loop between them (K0210; the way out distributes, then asks again).
Result<std::vector<poly::LoopId>, Refusal::Shape>
perfect_nest(const Schedule&, const std::vector<poly::LoopId>& loops, const Directive& directive,
             std::string_view request);

/// `order` with the loops of a perfect nest (`nest`, outermost first) in the order `permuted`; rows
/// follow.
poly::Order with_nest_permuted(poly::Order, const std::vector<poly::LoopId>& nest,
                               const std::vector<poly::LoopId>& permuted);

/// The same request asked of the loops around `statement`.
Directive qualified_by(Directive, const std::string& statement);

/// Refuses a loop whose iterations do not run one by one (vector, unrolled, coalesced), so that
/// nothing can be put into each of them (K0217).
std::optional<Refusal::Shape> refuse_as_place(const poly::Order&, poly::LoopId,
                                              std::string_view request);

/// Refuses a loop with marks that a change of its values would leave without meaning, or that runs
/// as one with another (K0217). A parallel loop is fine.
std::optional<Refusal::Shape> refuse_if_bound(const poly::Order&, poly::LoopId,
                                              std::string_view request);

} // namespace kawara::schedule
