#pragma once

#include "poly/scop.h"
#include "program/program.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace kawara::oracle {

/// One execution of one statement.
struct Instance {
  uint32_t statement = 0;
  std::vector<int64_t> iters; ///< loop values, outermost first
  friend auto operator<=>(const Instance&, const Instance&) = default;
};

struct Element {
  uint32_t tensor = 0;
  std::vector<int64_t> index;
  friend auto operator<=>(const Element&, const Element&) = default;
};

/// One touch of an element. An update touches its element twice: it reads and it writes.
struct Touch {
  Element element;
  bool is_write = false;
  bool is_update = false; ///< the read or the write half of `element op= value`
};

/// Two instances that touch one element, at least one writing; `source` runs first in the source
/// order.
struct Conflict {
  size_t source = 0, sink = 0; ///< indices into the instances
  poly::DependenceKind kind = poly::DependenceKind::Flow;
  bool is_reduction = false; ///< both are halves of updates with the same operator
  Element element;
};

/// All instances in source order, by walking the loops and conditions with plain arithmetic. No
/// sets, no relations: this is what the polyhedral side is checked against.
std::vector<Instance> instances_of(const program::Program&, const std::vector<int64_t>& params);

/// Instances of a scop whose statements were rewritten (cut, compute_at, rfactor, ...): the integer
/// points of its domains in the order given by its source order.
std::vector<Instance> instances_of(const poly::Scop&, const std::vector<int64_t>& params);

/// Elements that the instance touches: reads of the value, then the halves of the write.
std::vector<Touch> touches_of(const program::Statement&, const std::vector<int64_t>& iters,
                              const std::vector<int64_t>& params);

/// All conflicts between instances that stand in source order, of which each makes these touches.
std::vector<Conflict> conflicts_of(const std::vector<Instance>& in_order,
                                   const std::vector<program::Statement>& statements,
                                   const std::vector<std::vector<Touch>>& touches);

/// Texts of a scop's statements, by number.
std::vector<program::Statement> statements_of(const poly::Scop&);

/// Value of a quasi-affine expression; throws InternalError where it has none.
int64_t value_of(const scalar::Expr&, const std::vector<int64_t>& iters,
                 const std::vector<int64_t>& params);

} // namespace kawara::oracle
