#pragma once

#include "poly/affine.h"
#include "schedule/propose.h"

#include <functional>
#include <string>
#include <vector>

namespace kawara::schedule {

// What directives that change statements (cut, compute_at, inline, rfactor) have in common.

/// The same points under another tuple name.
isl::set renamed(const isl::set&, const std::string& tuple);

/// Adds a statement under the next free number, which also names it and its tuple. It has no rows
/// and is in neither tree yet.
poly::StmtId add_statement(Proposal&, program::Statement text, const isl::set& domain);

/// Takes the leaf of a statement out of the tree, and the loops that are left empty.
void remove_leaf(poly::Order&, poly::StmtId);

/// The sequence that holds a statement's leaf, and where.
struct LeafPlace {
  std::vector<poly::TreeNode>* sequence = nullptr;
  size_t index = 0;
};
LeafPlace place_of(poly::Order&, poly::StmtId);

/// The nodes with only the leaves that `is_kept` names, without the loops that are left empty.
std::vector<poly::TreeNode> kept(const std::vector<poly::TreeNode>&,
                                 const std::function<bool(poly::StmtId)>& is_kept);
/// Gives every loop of the nodes a number of its own, with the same name and marks.
void renumber_loops(poly::Order&, std::vector<poly::TreeNode>&);

/// Smallest and largest value of a dimension as expressions in the parameters (bounds of them when
/// the ends have several cases). The set must be bounded and not empty.
struct Ends {
  scalar::Expr low, high;
};
Ends ends_of(const isl::set&, unsigned dimension, const std::vector<program::Param>&);
/// The upper one alone: each takes as long as the other.
scalar::Expr high_of(const isl::set&, unsigned dimension, const std::vector<program::Param>&);
/// Number of values from `low` to `high`.
scalar::Expr extent_of(const Ends&);

using poly::map_of;

/// The value over a tensor that holds its elements in another type, one that holds all values of
/// what they are read as now: each is converted straight to what it is used as, without the type in
/// between.
scalar::Expr with_elements_as(const scalar::Expr& value, uint32_t tensor, scalar::Elem);

/// `name`, with `suffix` added as often as needed to differ from all of `taken`.
std::string fresh_name(std::string name, const std::string& suffix,
                       const std::vector<std::string>& taken);

} // namespace kawara::schedule
