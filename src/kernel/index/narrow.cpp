#include "kernel/index/narrow.h"

#include "kernel/analysis/intervals.h"
#include "kernel/vars.h"
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

class Narrowing {
public:
  explicit Narrowing(const Kernel& kernel) {
    visit(kernel.body, [&](const Stmt& stmt) {
      if (const auto* assign = std::get_if<Assign>(&stmt))
        assigned_.insert(assign->var);
    });
  }

  Block block(const Block& statements) {
    Block result;
    for (const Stmt& stmt : statements) {
      Stmt copy = map_own_exprs(stmt, [&](const Expr& e) { return narrowed(e); });
      if (auto* loop = std::get_if<For>(&copy)) {
        intervals_.enter(*loop);
        loop->body = block(loop->body);
      } else if (auto* branch = std::get_if<If>(&copy)) {
        branch->then = block(branch->then);
        branch->otherwise = block(branch->otherwise);
      } else if (auto* allocate = std::get_if<Allocate>(&copy))
        allocate->body = block(allocate->body);
      else if (auto* define = std::get_if<Define>(&copy);
               define != nullptr && assigned_.count(define->var) == 0)
        intervals_.define(define->var, define->value);
      result.push_back(std::move(copy));
    }
    return result;
  }

private:
  Expr narrowed(const Expr& root) const {
    return scalar::rewrite(root, [&](const Expr& e) {
      const auto* n = as<scalar::Binary>(e);
      if (n == nullptr || e.type().elem != Elem::I64 ||
          (n->op != BinaryOp::FloorDiv && n->op != BinaryOp::Mod))
        return Expr();
      const int64_t divisor = divisor_of(n->rhs);
      if (divisor == 0 || !fits_in_32_bits(intervals_.of(n->lhs)))
        return Expr();
      const uint16_t lanes = e.type().lanes;
      const Expr by = scalar::broadcast(scalar::int_lit(divisor, {Elem::I32, 1}), lanes);
      return scalar::cast(scalar::binary(n->op, low_bits(n->lhs), by), e.type());
    });
  }

  Intervals intervals_;
  VarSet assigned_;
};

} // namespace

Kernel narrow(Kernel kernel) {
  kernel.body = Narrowing(kernel).block(kernel.body);
  return kernel;
}

} // namespace kawara::kernel
