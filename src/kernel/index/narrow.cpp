#include "kernel/index/narrow.h"

#include "kernel/analysis/intervals.h"
#include "kernel/walk.h"

#include <bit>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::Elem;
using scalar::Type;

bool fits_in_32_bits(const scalar::Bounds& b) {
  return b.low && b.high && *b.low >= INT32_MIN && *b.high <= INT32_MAX;
}

/// A constant divisor worth the trouble; 0 when `e` is none.
int64_t divisor_of(const Expr& e) {
  const auto* lanes = as<scalar::Broadcast>(e);
  const int64_t c = scalar::constant_of(lanes != nullptr ? lanes->arg : e).value_or(0);
  const bool is_plain = c <= 1 || c > INT32_MAX || std::has_single_bit(static_cast<uint64_t>(c));
  return is_plain ? 0 : c;
}

/// The low 32 bits. Sums and products of low bits are the low bits of sums and products, so the
/// conversion moves to where the lanes of a vector begin.
Expr low_bits(const Expr& e) {
  const Type type{Elem::I32, e.type().lanes};
  if (const auto* n = as<scalar::Cast>(e); n != nullptr && n->arg.type() == type)
    return n->arg;
  if (type.lanes > 1) {
    if (const auto* n = as<scalar::Ramp>(e);
        n != nullptr && fits_in_32_bits({n->stride, n->stride}))
      return scalar::ramp(low_bits(n->base), n->stride, type.lanes);
    if (const auto* n = as<scalar::Broadcast>(e))
      return scalar::broadcast(low_bits(n->arg), type.lanes);
    if (const auto* n = as<scalar::Binary>(e))
      if (n->op == BinaryOp::Add || n->op == BinaryOp::Sub || n->op == BinaryOp::Mul)
        return scalar::binary(n->op, low_bits(n->lhs), low_bits(n->rhs));
  }
  const auto c = scalar::constant_of(e);
  return c && fits_in_32_bits({*c, *c}) ? scalar::int_lit(*c, type) : scalar::cast(e, type);
}

Expr narrowed(const Expr& root, const Intervals& intervals) {
  return scalar::rewrite(root, [&](const Expr& e) {
    const auto* n = as<scalar::Binary>(e);
    if (n == nullptr || e.type().elem != Elem::I64 ||
        (n->op != BinaryOp::FloorDiv && n->op != BinaryOp::Mod))
      return Expr();
    const int64_t divisor = divisor_of(n->rhs);
    if (divisor == 0 || !fits_in_32_bits(intervals.of(n->lhs)))
      return Expr();
    const uint16_t lanes = e.type().lanes;
    const Expr by = scalar::broadcast(scalar::int_lit(divisor, {Elem::I32, 1}), lanes);
    return scalar::cast(scalar::binary(n->op, low_bits(n->lhs), by), e.type());
  });
}

} // namespace

Kernel narrow(Kernel kernel) {
  Intervals intervals;
  visit_scoped(kernel.body, intervals, [&](Stmt& stmt) {
    visit_own_exprs(stmt, [&](Expr& e) { e = narrowed(e, intervals); });
  });
  return kernel;
}

} // namespace kawara::kernel
