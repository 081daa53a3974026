#include "kernel/loops/collapse.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Iterations of a loop with step 1, never negative.
Expr extent_of(const For& loop) {
  const Expr count = scalar::simplify(loop.hi - loop.lo);
  if (Ranges().is_at_least(count, 0))
    return count;
  return scalar::simplify(binary(BinaryOp::Max, count, int_lit(0)));
}

const For* joinable_child(const For& outer) {
  if (!outer.joins_child || outer.body.size() != 1 || outer.step != 1)
    return nullptr;
  const auto* inner = std::get_if<For>(&outer.body[0]);
  if (inner == nullptr || inner->step != 1 || inner->joins_child || outer.marks.vector_width != 0 ||
      inner->marks.vector_width != 0 || mentions(inner->lo, outer.var) ||
      mentions(inner->hi, outer.var))
    return nullptr;
  return inner;
}

/// `i` of the loops `i_j` and `j`.
std::string first_part(const Kernel& kernel, uint32_t outer, uint32_t inner) {
  const std::string& name = kernel.variables[outer].name;
  const std::string end = "_" + kernel.variables[inner].name;
  const bool has_end =
      name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  return has_end ? name.substr(0, name.size() - end.size()) : name;
}

Block joined_pair(Kernel& kernel, For outer) {
  const For* child = joinable_child(outer);
  outer.joins_child = false;
  if (child == nullptr)
    return block_of(std::move(outer));
  const For inner = *child;
  const Expr width = extent_of(inner), at = scalar::var(outer.var);
  const Expr quotient = scalar::simplify(outer.lo + binary(BinaryOp::FloorDiv, at, width));
  const Expr remainder = scalar::simplify(inner.lo + binary(BinaryOp::Mod, at, width));
  For joined;
  joined.var = outer.var;
  joined.lo = int_lit(0);
  joined.hi = scalar::simplify(extent_of(outer) * width);
  joined.marks = outer.marks;
  if (joined.marks.axis != poly::Axis::None) {
    joined.body =
        substitute_var(substitute_var(inner.body, outer.var, quotient), inner.var, remainder);
    return block_of(std::move(joined));
  }
  // The joined loop has the outer one's name, i_j; what the outer loop counted is i again.
  const uint32_t first =
      add_variable(kernel, first_part(kernel, outer.var, inner.var), scalar::kIndex);
  joined.body = {Define{first, quotient}, Define{inner.var, remainder}};
  const Block body = substitute_var(inner.body, outer.var, scalar::var(first));
  joined.body.insert(joined.body.end(), body.begin(), body.end());
  return block_of(std::move(joined));
}

} // namespace

Kernel collapse(Kernel kernel) {
  kernel.body = rewrite(kernel.body, [&](For loop) {
    return loop.joins_child ? joined_pair(kernel, std::move(loop)) : block_of(std::move(loop));
  });
  return kernel;
}

} // namespace kawara::kernel
