#pragma once

#include "schedule/auto/facts/perfect_nest.h"

#include <vector>

namespace kawara::schedule {

/// How an access moves when a loop advances by one.
enum class Move : uint8_t {
  None, ///< not at all: the value can be kept
  Unit, ///< to the next element of the last dimension
  Far,  ///< elsewhere, or nobody knows where
};

/// One access of a statement: a row of the table.
struct LoopAccess {
  poly::StmtId statement;
  uint32_t tensor = 0;
  bool is_write = false;
  bool is_repeated = false; ///< the statement loads the same element before
  std::vector<Move> moves;  ///< one for each loop, outermost first

  bool stays(size_t loop) const { return moves[loop] == Move::None; }
  /// Along all loops: the same element in every iteration.
  bool stays() const;
};

/// The accesses of statements by the loops around them. Of each statement the write comes first,
/// then the loads of its value from left to right, as in `scalar::loads_in`.
using AccessTable = std::vector<LoopAccess>;

/// Of one statement, along all loops around it.
AccessTable access_table(const poly::Scop&, const poly::Order&, poly::StmtId);
/// Of the statements of a nest, along the nest's loops.
AccessTable access_table(const Schedule&, const Nest&);

/// How the accesses of statements move when one loop advances by one, counted; repeated loads are
/// none.
struct Strides {
  int unit = 0;
  int none = 0;
  int far = 0;
  int far_writes = 0;
  bool writes_same_element = false; ///< some write stays in place: the loop reduces into it
};
Strides strides_along(const AccessTable&, size_t loop);

/// The same for the loop at that depth around some statements; those it is not around do not count.
Strides strides_at(const Schedule&, const std::vector<poly::StmtId>&, size_t depth);
/// The same without temps of which each iteration has a copy: these are registers where iterations
/// run side by side.
Strides shared_strides_at(const Schedule&, const std::vector<poly::StmtId>&, size_t depth);

/// Lanes along such a loop load and store element by element for the most part.
bool goes_far(const Strides&);

/// Whether some index of a load stops at a border along the nest's loop or turns back there:
/// `x[min(max(i - 1, 0), 8)]`, `x[(i + 12) % 16]`.
bool turns_back(const Schedule&, const Nest&, size_t position);

/// Whether a row of the order is one of the statement's iterators plus a constant.
bool is_plain_row(const poly::Scop&, const poly::Order&, poly::StmtId, size_t row);

} // namespace kawara::schedule
