#include "schedule/loops/cut.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "scalar/affine_sum.h"
#include "schedule/codes.h"
#include "schedule/tree/nest.h"
#include "schedule/tree/resolve.h"
#include "schedule/tree/rewrite.h"

#include <algorithm>
#include <map>

namespace kawara::schedule {

using poly::LoopId;
using poly::Order;
using poly::Scop;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

/// What the user would call the value of a loop at an iteration, and which way it runs.
struct LoopValue {
  Expr value;
  bool runs_down = false;
};

/// Whether two iterations that differ in iterator `d` alone always differ in the row: then the row
/// only counts the values of that iterator, as it does for a strided loop.
bool counts_values(const Scop& scop, StmtId id, const Expr& row, uint32_t d) {
  const isl::set& domain = scop[id].domain;
  std::vector<Expr> keys;
  for (uint32_t k = 0; k < scop[id].text.iters.size(); ++k)
    keys.push_back(k == d ? row : scalar::iter(k));
  return map_of(keys, domain, scop.params).is_injective();
}

/// The iterator whose values the row counts up or down: i, -i, i // 4 over every fourth value.
std::optional<LoopValue> source_value(const Scop& scop, StmtId id, const Expr& row) {
  Expr at = row;
  bool runs_down = false, is_counted = false;
  for (;;) {
    const scalar::AffineSum sum = scalar::affine_sum(at);
    if (sum.terms.size() != 1 || sum.constant != 0 ||
        (sum.terms[0].second != 1 && sum.terms[0].second != -1))
      return std::nullopt;
    runs_down = runs_down != (sum.terms[0].second < 0);
    at = sum.terms[0].first;
    if (const auto* it = scalar::as<scalar::Iter>(at)) {
      if (is_counted && !counts_values(scop, id, row, it->index))
        return std::nullopt;
      return LoopValue{at, runs_down};
    }
    const auto* division = scalar::as<scalar::Binary>(at);
    if (!division || division->op != BinaryOp::FloorDiv)
      return std::nullopt;
    is_counted = true;
    at = division->lhs;
  }
}

/// Values of the loop at `depth` for the statements below it; the rows themselves where the
/// statements do not agree on what is counted.
std::map<StmtId, LoopValue> values_of(const Scop& scop, const Order& order,
                                      const std::vector<StmtId>& below, size_t depth) {
  std::map<StmtId, LoopValue> values, rows;
  for (const StmtId id : below) {
    const Expr& row = order.rows[id.value][depth];
    rows[id] = {row, false};
    if (const auto value = source_value(scop, id, row))
      values[id] = *value;
  }
  const bool agree = values.size() == below.size() &&
                     std::all_of(values.begin(), values.end(), [&](const auto& entry) {
                       return entry.second.runs_down == values.begin()->second.runs_down;
                     });
  return agree ? values : rows;
}

/// The iterations of a statement on each side.
struct Halves {
  isl::set lo, hi;
};

/// The copy stands beside its original, in the same loops: their iterations are never the same, so
/// which of the two comes first does not matter.
void copy_in_source(Order& source, StmtId original, StmtId copy) {
  const LeafPlace place = place_of(source, original);
  place.sequence->insert(place.sequence->begin() + static_cast<std::ptrdiff_t>(place.index) + 1,
                         TreeNode{copy, {}});
  source.rows[copy.value] = source.rows[original.value];
}

void rename_leaves(std::vector<TreeNode>& nodes, const std::map<StmtId, StmtId>& names) {
  for (TreeNode& node : nodes) {
    if (node.is_loop())
      rename_leaves(node.body, names);
    else if (const auto at = names.find(node.statement()); at != names.end())
      node.what = at->second;
  }
}

/// Loops `name`.lo and `name`.hi in the place of the loop.
void replace_loop(Order& order, LoopId loop, const std::map<StmtId, Halves>& halves,
                  const std::map<StmtId, StmtId>& copies, bool runs_down) {
  const poly::OrderLoop old = order[loop];
  const auto half = [&](const char* suffix, bool is_hi) {
    const LoopId id = poly::add_loop(order, old.name + suffix, old.where);
    order[id].marks.is_parallel = old.marks.is_parallel;
    TreeNode node{id, kept(place_of(order, loop).node().body, [&](StmtId s) {
                    const Halves& h = halves.at(s);
                    // What never runs stays, too: it still has a place among the others.
                    return is_hi ? !h.hi.is_empty() : !h.lo.is_empty() || h.hi.is_empty();
                  })};
    if (is_hi) {
      renumber_loops(order, node.body);
      rename_leaves(node.body, copies);
    }
    return node;
  };
  TreeNode lo = half(".lo", false), hi = half(".hi", true);
  const Place place = place_of(order, loop);
  if (runs_down)
    std::swap(lo, hi);
  place.node() = std::move(lo);
  place.sequence->insert(place.sequence->begin() + static_cast<std::ptrdiff_t>(place.index) + 1,
                         std::move(hi));
}

Refusal::Shape one_sided(const Schedule& schedule, const Cut& cut, LoopId loop,
                         const std::string& request, bool all_low) {
  return shape_refusal(kCannotCut, request, schedule.order[loop].where,
                       all_low ? "stays below " + std::to_string(cut.at)
                               : "starts at " + std::to_string(cut.at) + " or above",
                       {"Every value of " + quoted(cut.loop) + " is " +
                        (all_low ? "below " : "at least ") + std::to_string(cut.at) +
                        ", so one side would be empty."});
}

} // namespace

Proposed propose(const Schedule& schedule, const Cut& cut, const Environment&) {
  const std::string request =
      "cannot cut loop " + quoted(cut.loop) + " at " + std::to_string(cut.at);
  KAWARA_TRY(const LoopId loop, resolve_loop(schedule, cut.loop, request));
  if (auto refused = refuse_if_bound(schedule.order, loop, request))
    return fail(*std::move(refused));
  const Scop& scop = schedule.scop;
  const std::vector<StmtId> below = poly::statements_below(schedule.order, loop);
  const auto values = values_of(scop, schedule.order, below, *poly::depth_of(schedule.order, loop));

  std::map<StmtId, Halves> halves;
  bool has_lo = false, has_hi = false;
  for (const StmtId id : below) {
    const isl::set& domain = scop[id].domain;
    const isl::set lo = poly::set_from_condition(
        scalar::binary(BinaryOp::Lt, values.at(id).value, scalar::int_lit(cut.at)), domain,
        scop.params);
    halves[id] = {lo, domain.subtract(lo)};
    has_lo = has_lo || !lo.is_empty();
    has_hi = has_hi || !halves[id].hi.is_empty();
  }
  if (!has_lo || !has_hi)
    return fail(one_sided(schedule, cut, loop, request, has_lo));

  Proposal made{scop, schedule.order};
  std::map<StmtId, StmtId> copies;
  for (const StmtId id : below) {
    const auto& [lo, hi] = halves.at(id);
    if (lo.is_empty() || hi.is_empty())
      continue;
    const StmtId copy = add_statement(made, scop[id].text, hi);
    made.scop.statements[id.value].domain = poly::coalesced(lo);
    copy_in_source(made.scop.source_order, id, copy);
    made.order.rows[copy.value] = made.order.rows[id.value];
    copies[id] = copy;
  }
  replace_loop(made.order, loop, halves, copies, values.begin()->second.runs_down);
  made.scop = poly::rebuilt(std::move(made.scop));
  return made;
}

} // namespace kawara::schedule
