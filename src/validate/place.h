#pragma once

#include "kernel/kernel.h"

#include <unordered_map>
#include <utility>
#include <vector>

namespace kawara::validate {

/// Where a walk over a kernel's body is. The loops around are dimensions, outermost first: Iter d
/// is the variable of loop d.
struct Place {
  size_t loops = 0;                   ///< around the current statement
  std::vector<uint32_t> vars = {};    ///< of these loops
  std::vector<uint32_t> numbers = {}; ///< of these loops in the kernel: two loops have two numbers
  std::vector<scalar::Expr> conditions = {}; ///< in dimensions; empty: not known

  /// How far a walk has come, to go back to: what was entered and set since then is no more.
  struct Mark {
    size_t loops = 0, conditions = 0, changes = 0;
  };
  Mark mark() const { return {loops, conditions.size(), changes_.size()}; }
  void back_to(const Mark&);

  /// Into a loop, the `number`-th of the kernel: one more dimension, with the loop's bounds as
  /// conditions.
  void enter(const kernel::For&, uint32_t number);
  /// Into a launch: six more, blocks and threads, numbered from `number` on.
  void enter(const kernel::Launch&, uint32_t number);
  /// What a definition or an assignment of an index says.
  void define(const kernel::Kernel&, const kernel::Define&);
  void assign(const kernel::Kernel&, const kernel::Assign&);
  /// Variables that the block assigns have no one value in it, nor after it.
  void forget_assigned(const kernel::Block&);

  /// In dimensions in place of variables; nothing where a variable has no known value or an element
  /// is read.
  scalar::Expr in_dimensions(const scalar::Expr&) const;
  /// The same of an expression of an origin: Iter n, the n-th point, becomes the dimension after
  /// those of the loops.
  scalar::Expr of_origin(const scalar::Expr&) const;

private:
  void set(uint32_t var, const scalar::Expr& value);
  scalar::Expr enter(uint32_t var, uint32_t number);
  void require(scalar::BinaryOp, const scalar::Expr& lhs, const scalar::Expr& rhs);
  void require_each(scalar::BinaryOp, const scalar::Expr& var, const scalar::Expr& bound,
                    scalar::BinaryOp join);

  /// Of index variables, in dimensions; empty: not known.
  std::unordered_map<uint32_t, scalar::Expr> values_ = {};
  std::vector<std::pair<uint32_t, scalar::Expr>> changes_ = {}; ///< what variables were before
};

} // namespace kawara::validate
