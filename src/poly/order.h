#pragma once

#include "poly/axis.h"
#include "program/program.h"
#include "scalar/expr.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kawara::poly {

using scalar::Expr;

struct StmtId {
  uint32_t value = 0;
  friend auto operator<=>(const StmtId&, const StmtId&) = default;
};
struct LoopId {
  uint32_t value = 0;
  friend auto operator<=>(const LoopId&, const LoopId&) = default;
};

/// Elements of a tensor that the iteration `ahead` of the current one will touch, called into the
/// cache.
struct Prefetched {
  uint32_t tensor = 0;
  int64_t ahead = 1;
  friend bool operator==(const Prefetched&, const Prefetched&) = default;
};

/// What a loop is, besides an order. Judged together with the order.
struct Marks {
  bool is_parallel = false;
  int64_t vector_width = 0; ///< 0: not vectorised; else lanes
  bool is_scan = false;     ///< a vector loop whose lanes hand on running values (prefix sums)
  int64_t unroll = 0;       ///< 0: not unrolled; kFullUnroll: completely; else copies
  bool is_isolated = false; ///< full tiles apart from partial ones (a tile's point loop)
  std::vector<Prefetched> prefetches;
  /// The loops of one instruction (target/intrinsic.h), one inside the other, all carry its name;
  /// empty: none. `instruction_axis` is the instruction's loop that this one is.
  std::string instruction;
  uint32_t instruction_axis = 0;
  Axis axis = Axis::None; ///< iterations are blocks or threads of a GPU
  int64_t stages = 0;     ///< copies of what its iterations stage that are under way; 0: none
  int64_t threads = 0;    ///< of a thread axis: no run of the loop is longer
  friend bool operator==(const Marks&, const Marks&) = default;
};
inline constexpr int64_t kFullUnroll = -1;

/// One loop of an Order.
struct OrderLoop {
  std::string name; ///< i, i.0, i_j; unique along every path from the root
  Span where;       ///< source loop it descends from
  Marks marks;
  /// Runs as one loop together with its only child loop (coalesce): that child has this set.
  bool is_coalesced_into_parent = false;
  /// Point loop of a split or tile: it runs from 0 to this minus 1 (less in partial tiles); 0: it
  /// is none.
  int64_t tile_size = 0;
};

/// A loop with its body, or a statement (a leaf).
struct TreeNode {
  std::variant<LoopId, StmtId> what;
  std::vector<TreeNode> body;
  bool is_loop() const { return what.index() == 0; }
  LoopId loop() const { return std::get<LoopId>(what); }
  StmtId statement() const { return std::get<StmtId>(what); }
};

/// The order in which statement instances run, as a loop tree with rows.
///
/// The tree says which statements share which loops and what comes first inside a loop body. A row
/// is the value a loop has at an instance: quasi-affine in the statement's iterators and the
/// parameters. Statement s at iteration x runs at the time given by walking from the root to its
/// leaf: (position in the sequence, row, position, row, ..., position). Times compare
/// lexicographically; two instances of a legal order never have the same time.
///
///   for i: { S0; for k: S1 }      rows: S0 [i]    S1 [i, k]
///   after split(i, 32):           rows: S0 [i // 32, i % 32]   S1 [i // 32, i % 32, k]
///
/// This is an isl schedule tree restricted to one-member bands, kept as plain values because every
/// directive edits it (docs/decisions/0001-loop-tree.md); isl's tree is derived from it when code
/// is generated.
struct Order {
  std::vector<OrderLoop> loops; ///< by LoopId; ids of loops no longer in the tree stay unused
  std::vector<TreeNode> body;   ///< root sequence
  std::vector<std::vector<Expr>> rows; ///< by StmtId; aligned with `path_of`; empty when removed

  const OrderLoop& operator[](LoopId id) const { return loops[id.value]; }
  OrderLoop& operator[](LoopId id) { return loops[id.value]; }
};

/// Loops around a statement, outermost first. Empty also when the statement is not in the tree.
std::vector<LoopId> path_of(const Order&, StmtId);
/// Statements below a node or loop, in tree order.
std::vector<StmtId> statements_below(const TreeNode&);
std::vector<StmtId> statements_below(const Order&, LoopId);
/// The node of a loop; null when it is not in the tree.
const TreeNode* find_node(const Order&, LoopId);
TreeNode* find_node(Order&, LoopId);
/// Depth of a loop in the tree (outermost 0): the index of its row in every statement below it.
std::optional<size_t> depth_of(const Order&, LoopId);
/// Loops in tree pre-order.
std::vector<LoopId> loops_in_order(const Order&);
/// Adds a loop with that name and where; it is not in the tree yet.
LoopId add_loop(Order&, std::string name, Span where);

/// Number of loops that two statements share, and which of the two comes first where they part
/// (-1: a first, +1: b first... 0: same statement).
struct Meeting {
  size_t shared_loops = 0;
  int order = 0; ///< < 0: `a` comes before `b` in the sequence where they part; > 0: after
};
Meeting meet(const Order&, StmtId a, StmtId b);

/// The order as an indented listing, one loop or statement a line, with marks.
std::string print(const Order&, const std::vector<std::string>& statement_names);

} // namespace kawara::poly
