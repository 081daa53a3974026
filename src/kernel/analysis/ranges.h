#pragma once

#include "kernel/kernel.h"

#include <optional>
#include <vector>

namespace kawara::kernel {

/// What follows from the bounds of the loops around a place, from the conditions above it that
/// compare what these loops count, and from parameters not being negative. Cheap and incomplete: no
/// answer means that nothing was found, not that there is nothing.
///
///   for k_0 in range(0, (K + 255)//256): for k_1 in range(0, min(256, K - 256*k_0)): ...
///   the inner loop runs at least once: K - 256*k_0 >= K - (K + 255 - 255) + 1 = 1
///   if K - 256*k_0 >= 256: for k_1 in range(0, 256): ...
///   here K - 256*k_0 - k_1 >= 1, which the loops alone do not say
///
/// A tracker (walk.h).
class Ranges {
public:
  void enter(const For& loop) { loops_.push_back({loop.var, loop.lo, loop.hi}); }
  void leave() { loops_.pop_back(); }
  void leave(const For&) { leave(); }
  void enter(const If&);
  void leave(const If&);

  /// A number that `e` never goes below.
  std::optional<int64_t> low(const Expr& e) const;
  bool is_at_least(const Expr& e, int64_t bound) const;
  bool runs_at_least_once(const For& loop) const;

private:
  struct Bounded {
    uint32_t var;
    Expr lo, hi;
  };
  /// A block of a condition. The facts are not negative inside.
  struct Branch {
    bool is_then;
    std::vector<Expr> facts;
  };
  std::optional<int64_t> low(const Expr& e, int& budget) const;
  std::optional<int64_t> low_with(const Expr& whole, const Expr& term, int64_t factor,
                                  const std::vector<Expr>& options, bool needs_all,
                                  int& budget) const;
  void add_facts(const Expr& condition, Branch&) const;
  bool counts_loops(const Expr&) const;

  std::vector<Bounded> loops_;
  std::vector<Branch> branches_;
  bool is_otherwise_next_ =
      false; ///< the walk has left a block `then`, and enters the other one next
};

/// Operands of nested `op` (min or max); `e` itself when it is something else.
std::vector<Expr> operands_of(const Expr& e, scalar::BinaryOp op);

/// Number of iterations when the bounds differ by a constant; 0 when that is negative.
std::optional<int64_t> trip_count(const For& loop);

/// How far whole groups of `stride` reach from `loop.lo`, as a distance: the largest multiple of
/// `stride` (itself a multiple of the step) that the loop covers; 0 for a loop that does not run.
Expr covered_distance(const For& loop, int64_t stride);

} // namespace kawara::kernel
