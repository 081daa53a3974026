#include "schedule/tree/rewrite.h"

#include "poly/affine.h"
#include "poly/isl/coalesced.h"
#include "poly/isl/dimensions.h"
#include "poly/isl/pieces.h"
#include "support/check.h"

#include <algorithm>

namespace kawara::schedule {

using poly::Order;
using poly::StmtId;
using poly::TreeNode;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

std::string tuple_text(const std::string& name, unsigned size) {
  std::string text = name + "[";
  for (unsigned d = 0; d < size; ++d)
    text += (d == 0 ? "d" : ", d") + std::to_string(d);
  return text + "]";
}

bool find_leaf(std::vector<TreeNode>& sequence, StmtId id, LeafPlace& place) {
  for (size_t k = 0; k < sequence.size(); ++k) {
    if (!sequence[k].is_loop() && sequence[k].statement() == id) {
      place = {&sequence, k};
      return true;
    }
    if (find_leaf(sequence[k].body, id, place))
      return true;
  }
  return false;
}

/// One bound for all cases of an end.
Expr over_cases(const isl::pw_aff& end, BinaryOp op, const std::vector<program::Param>& params) {
  if (const Expr only = poly::expr_from_pw_aff(end, params))
    return only;
  Expr bound;
  end.as_pw_multi_aff().foreach_piece([&](const isl::set&, const isl::multi_aff& piece) {
    const Expr value = poly::expr_from_pw_aff(isl::pw_aff(piece.at(0)), params);
    KAWARA_CHECK(value, "a piece is affine");
    bound = bound ? scalar::binary(op, bound, value) : value;
  });
  return scalar::simplify(bound);
}

} // namespace

isl::set renamed(const isl::set& set, const std::string& tuple) {
  if (!tuple.empty())
    return poly::with_tuple_name(set, tuple);
  const unsigned size = poly::dimension_count(set);
  const isl::map rename(set.ctx(), "{ " + tuple_text(poly::tuple_name(set), size) + " -> " +
                                       tuple_text(tuple, size) + " }");
  return set.apply(rename);
}

StmtId add_statement(Proposal& to, program::Statement text, const isl::set& domain) {
  const StmtId id{static_cast<uint32_t>(to.scop.statements.size())};
  text.name = "S" + std::to_string(id.value);
  const isl::set own = poly::coalesced(poly::with_divisions(renamed(domain, text.name)));
  to.scop.statements.push_back({std::move(text), own, false});
  to.scop.source_order.rows.emplace_back();
  to.order.rows.emplace_back();
  return id;
}

std::vector<TreeNode> kept(const std::vector<TreeNode>& nodes,
                           const std::function<bool(StmtId)>& is_kept) {
  std::vector<TreeNode> out;
  for (const TreeNode& node : nodes) {
    if (!node.is_loop()) {
      if (is_kept(node.statement()))
        out.push_back(node);
      continue;
    }
    std::vector<TreeNode> body = kept(node.body, is_kept);
    if (!body.empty())
      out.push_back({node.what, std::move(body)});
  }
  return out;
}

void remove_leaf(Order& order, StmtId id) {
  order.body = kept(order.body, [&](StmtId other) { return other != id; });
  order.rows[id.value].clear();
}

LeafPlace place_of(Order& order, StmtId id) {
  LeafPlace place;
  const bool found = find_leaf(order.body, id, place);
  KAWARA_CHECK(found, "the statement is in the tree");
  return place;
}

void renumber_loops(Order& order, std::vector<TreeNode>& nodes) {
  for (TreeNode& node : nodes) {
    if (!node.is_loop())
      continue;
    const poly::OrderLoop copy = order[node.loop()];
    const poly::LoopId id = poly::add_loop(order, copy.name, copy.where);
    order[id] = copy;
    node.what = id;
    renumber_loops(order, node.body);
  }
}

Expr high_of(const isl::set& set, unsigned dimension, const std::vector<program::Param>& params) {
  return over_cases(poly::largest_value(set, dimension), BinaryOp::Max, params);
}

Ends ends_of(const isl::set& set, unsigned dimension, const std::vector<program::Param>& params) {
  return {over_cases(poly::least_value(set, dimension), BinaryOp::Min, params),
          high_of(set, dimension, params)};
}

Expr extent_of(const Ends& ends) {
  return scalar::simplify(ends.high - ends.low + scalar::int_lit(1));
}

std::string fresh_name(std::string name, const std::string& suffix,
                       const std::vector<std::string>& taken) {
  while (std::find(taken.begin(), taken.end(), name) != taken.end())
    name += suffix;
  return name;
}

scalar::Expr with_elements_as(const scalar::Expr& value, uint32_t tensor, scalar::Elem elem) {
  using scalar::Expr;
  return scalar::rewrite(value, [&](const Expr& e) -> Expr {
    if (const auto* load = scalar::as<scalar::Load>(e))
      return load->tensor == tensor
                 ? scalar::cast(scalar::load(tensor, load->index, {elem, 1}), e.type())
                 : Expr();
    const auto* outer = scalar::as<scalar::Cast>(e);
    const auto* inner = outer != nullptr ? scalar::as<scalar::Cast>(outer->arg) : nullptr;
    const auto* load = inner != nullptr ? scalar::as<scalar::Load>(inner->arg) : nullptr;
    return load != nullptr && load->tensor == tensor ? scalar::cast(inner->arg, e.type()) : Expr();
  });
}

} // namespace kawara::schedule
