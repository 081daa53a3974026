#pragma once

#include "schedule/schedule.h"

#include <optional>
#include <vector>

namespace kawara::schedule {

/// How the accesses of a nest's statements move when one of its loops advances by one.
struct Strides {
  int unit = 0; ///< to the neighbouring element
  int none = 0; ///< not at all: the value can be kept
  int far = 0;  ///< elsewhere
  int far_writes = 0;
  bool writes_same_element = false; ///< some write stays in place: the loop reduces into it
};

/// A perfect nest: loops outermost first, every one alone in the body of the one before, statements
/// only in the innermost body.
struct Nest {
  std::vector<poly::LoopId> loops;
  std::vector<poly::StmtId> statements;
  size_t depth = 0; ///< of the first loop
};

/// The facts that decide how a nest is scheduled.
struct NestFacts {
  std::vector<bool> is_parallel;  ///< carries no dependence at all (given the fixed loops)
  std::vector<bool> is_reduction; ///< carries nothing but reductions that may be reassociated
  size_t fixed = 0;               ///< this many outer loops must stay where they are
  std::vector<Strides> strides;
  std::vector<int64_t> extents; ///< longest run; a guess where it depends on parameters
  std::vector<bool> is_open;    ///< it does
};

/// The nest that starts at `loop`, when it is perfect down to its statements.
std::optional<Nest> perfect_nest_at(const poly::Order&, poly::LoopId loop);
NestFacts facts_of(const Schedule&, const Nest&);
/// Of the widest type that results of the nest are computed in.
int64_t widest_bytes(const Schedule&, const Nest&);

/// Bytes of a tensor; sizes that are not fixed count as 1.
int64_t bytes_of_tensor(const program::Tensor&);

/// How an access moves when a loop advances by one.
enum class Move : uint8_t { None, Unit, Far };

/// Moves of a statement's accesses along the loop of a row: the write first, then the loads of its
/// value from left to right.
std::vector<Move> moves_of(const poly::Scop&, const poly::Order&, poly::StmtId, size_t row);

/// Whether an index of what a nest's statement loads, of this tensor or of any, mentions one of
/// each of these loops: a window.
bool adds_up(const Schedule&, const Nest&, std::optional<uint32_t> tensor,
             const std::vector<size_t>& some, const std::vector<size_t>& others);

/// Whether a row is one of the statement's iterators plus a constant.
bool is_plain_row(const poly::Scop&, const poly::Order&, poly::StmtId, size_t row);

/// What one loop does to the accesses of these statements.
Strides strides_of(const poly::Scop&, const poly::Order&, const std::vector<poly::StmtId>&,
                   size_t row);

/// The same without temps of which each iteration has a copy: these are registers where iterations
/// run side by side.
Strides shared_strides(const Schedule&, const std::vector<poly::StmtId>&, size_t row);

/// Lanes along such a loop load and store element by element for the most part.
bool goes_far(const Strides&);

} // namespace kawara::schedule
