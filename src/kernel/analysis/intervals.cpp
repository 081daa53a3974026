#include "kernel/analysis/intervals.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Bounds;
using scalar::Elem;
using End = std::optional<int64_t>;

End plus(End a, End b) {
  int64_t sum = 0;
  return a && b && !__builtin_add_overflow(*a, *b, &sum) ? End(sum) : std::nullopt;
}

End minus(End a, End b) {
  int64_t rest = 0;
  return a && b && !__builtin_sub_overflow(*a, *b, &rest) ? End(rest) : std::nullopt;
}

End times(End a, int64_t factor) {
  int64_t product = 0;
  return a && !__builtin_mul_overflow(*a, factor, &product) ? End(product) : std::nullopt;
}

Bounds times(const Bounds& b, int64_t factor) {
  return factor >= 0 ? Bounds{times(b.low, factor), times(b.high, factor)}
                     : Bounds{times(b.high, factor), times(b.low, factor)};
}

/// Both must hold of one of the two.
Bounds hull(const Bounds& a, const Bounds& b) {
  Bounds all;
  if (a.low && b.low)
    all.low = std::min(*a.low, *b.low);
  if (a.high && b.high)
    all.high = std::max(*a.high, *b.high);
  return all;
}

/// The end that is known, or the tighter of two.
End tighter(End a, End b, bool is_low) {
  if (!a || !b)
    return a ? a : b;
  return is_low ? std::max(*a, *b) : std::min(*a, *b);
}

Bounds of_type(Elem elem) {
  switch (elem) {
  case Elem::I32:
    return {INT32_MIN, INT32_MAX};
  case Elem::I16:
    return {INT16_MIN, INT16_MAX};
  case Elem::I8:
    return {INT8_MIN, INT8_MAX};
  case Elem::U8:
    return {0, UINT8_MAX};
  case Elem::U16:
    return {0, UINT16_MAX};
  case Elem::U32:
    return {0, UINT32_MAX};
  case Elem::Bool:
    return {0, 1};
  default:
    return {};
  }
}

End constant_in_all_lanes(const Expr& e) {
  const auto* n = as<scalar::Broadcast>(e);
  return scalar::constant_of(n != nullptr ? n->arg : e);
}

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool fits(const Bounds& b, const Bounds& type) {
  return b.low && b.high && type.low && type.high && *b.low >= *type.low && *b.high <= *type.high;
}

} // namespace

void Intervals::enter(const For& loop) {
  variables_[loop.var] = {of(loop.lo).low, minus(of(loop.hi).high, 1)};
  visit(loop.body, [&](const Assign& assign) { variables_.erase(assign.var); });
}

void Intervals::enter(const Launch& launch) {
  for (size_t axis = 0; axis < 3; ++axis) {
    variables_[launch.block_vars[axis]] = {0, minus(of(launch.blocks[axis]).high, 1)};
    variables_[launch.thread_vars[axis]] = {0, launch.threads[axis] - 1};
  }
}

void Intervals::define(uint32_t var, const Expr& value) {
  if (scalar::is_integer(value.type().elem))
    variables_[var] = of(value);
}

Bounds Intervals::of_binary(const scalar::Binary& n) const {
  const Bounds a = of(n.lhs), b = of(n.rhs);
  const End factor = constant_in_all_lanes(n.rhs);
  switch (n.op) {
  case BinaryOp::Add:
    return {plus(a.low, b.low), plus(a.high, b.high)};
  case BinaryOp::Sub:
    return {minus(a.low, b.high), minus(a.high, b.low)};
  case BinaryOp::Mul:
    if (factor)
      return times(a, *factor);
    if (const End left = constant_in_all_lanes(n.lhs))
      return times(b, *left);
    return {};
  case BinaryOp::FloorDiv:
    if (!factor || *factor <= 0)
      return {};
    return {a.low ? End(floor_divide(*a.low, *factor)) : std::nullopt,
            a.high ? End(floor_divide(*a.high, *factor)) : std::nullopt};
  case BinaryOp::Mod:
    return factor && *factor > 0 ? Bounds{0, *factor - 1} : Bounds{};
  case BinaryOp::Min:
    return {hull(a, b).low, tighter(a.high, b.high, false)};
  case BinaryOp::Max:
    return {tighter(a.low, b.low, true), hull(a, b).high};
  default:
    return {};
  }
}

Bounds Intervals::of_node(const Expr& e) const {
  if (const auto* n = as<scalar::IntLit>(e))
    return {n->value, n->value};
  if (as<scalar::Param>(e) != nullptr)
    return {0, std::nullopt};
  if (const auto* n = as<scalar::Var>(e)) {
    const auto known = variables_.find(n->id);
    return known != variables_.end() ? known->second : Bounds{};
  }
  if (const auto* n = as<scalar::Binary>(e))
    return of_binary(*n);
  if (const auto* n = as<scalar::Select>(e))
    return hull(of(n->then), of(n->otherwise));
  if (const auto* n = as<scalar::Cast>(e))
    return scalar::is_float(n->arg.type().elem) ? Bounds{} : of(n->arg);
  if (const auto* n = as<scalar::Broadcast>(e))
    return of(n->arg);
  if (const auto* n = as<scalar::Ramp>(e)) {
    const Bounds base = of(n->base);
    const Bounds steps = times(Bounds{0, e.type().lanes - 1}, n->stride);
    return {plus(base.low, steps.low), plus(base.high, steps.high)};
  }
  return {};
}

Bounds Intervals::of(const Expr& e) const {
  const Bounds type = of_type(e.type().elem);
  const Bounds found = of_node(e);
  // Narrow arithmetic wraps: what would leave the type may be anywhere in it.
  if (e.type().elem == Elem::U64)
    return {}; // from 2^63 on its values are none of i64
  return e.type().elem == Elem::I64 || fits(found, type) ? found : type;
}

} // namespace kawara::kernel
