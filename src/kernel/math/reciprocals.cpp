#include "kernel/math/reciprocals.h"

#include "kernel/analysis/fixed.h"
#include "kernel/math/quotients.h"
#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;
using scalar::Elem;

class ReciprocalPass {
public:
  explicit ReciprocalPass(Kernel& kernel) : kernel_(kernel) {}

  Block block(const Block& body) {
    return rewrite(body, [&](For loop) {
      const bool is_innermost =
          !loop.marks.is_parallel && has_only<Store, Define, Assign>(loop.body);
      return is_innermost ? divided(loop) : block_of(std::move(loop));
    });
  }

private:
  struct Divisor {
    Expr value, reciprocal; ///< scalars; the second a variable
  };

  Block divided(const For& loop) {
    inside_ = vars_set_in(loop.body);
    inside_.insert(loop.var);
    stored_ = buffers_stored_in(loop.body);
    divisors_.clear();
    For quick = loop;
    quick.body = map_exprs(loop.body, [&](const Expr& e) { return replaced(e); });
    if (divisors_.empty())
      return block_of(loop);
    Block result;
    Expr condition;
    for (const Divisor& divisor : divisors_) {
      const Expr one = scalar::float_lit(1, divisor.value.type());
      result.push_back(Define{as<scalar::Var>(divisor.reciprocal)->id,
                              scalar::binary(BinaryOp::Div, one, divisor.value)});
      const Expr size = scalar::unary(scalar::UnaryOp::Abs, divisor.reciprocal);
      const Expr has_all = is_normal_and_finite(size, size);
      condition = condition ? scalar::binary(BinaryOp::And, condition, has_all) : has_all;
    }
    result.push_back(If{condition, block_of(std::move(quick)), block_of(loop)});
    const auto low = scalar::constant_of(loop.lo), high = scalar::constant_of(loop.hi);
    if (low && high && *low < *high)
      return result;
    return block_of(If{scalar::binary(BinaryOp::Lt, loop.lo, loop.hi), std::move(result), {}});
  }

  Expr replaced(const Expr& e) {
    // A side of a select that is not chosen may not even be loaded.
    if (is_discontinuous(e) || as<scalar::Select>(e) != nullptr)
      return e;
    std::vector<Expr> kids = scalar::children(e);
    bool is_changed = false;
    for (Expr& kid : kids) {
      const Expr now = replaced(kid);
      is_changed |= !now.is_same_object(kid);
      kid = now;
    }
    const Expr whole = is_changed ? scalar::with_children(e, std::move(kids)) : e;
    const auto* quotient = as<Binary>(whole);
    if (quotient == nullptr || quotient->op != BinaryOp::Div || whole.type().elem != Elem::F32)
      return whole;
    const auto* lanes = as<scalar::Broadcast>(quotient->rhs);
    const Expr divisor = lanes != nullptr ? lanes->arg : quotient->rhs;
    if (divisor.type().lanes != 1 || !is_fixed(divisor, inside_, stored_) ||
        is_cheap_quotient(*quotient, divisor))
      return whole;
    const Expr factor = reciprocal_of(divisor);
    return quotient->lhs *
           (lanes != nullptr ? scalar::broadcast(factor, whole.type().lanes) : factor);
  }

  Expr reciprocal_of(const Expr& divisor) {
    for (const Divisor& known : divisors_)
      if (scalar::equal(known.value, divisor))
        return known.reciprocal;
    const uint32_t var = add_variable(kernel_, "reciprocal", divisor.type());
    divisors_.push_back({divisor, var_expr(kernel_, var)});
    return divisors_.back().reciprocal;
  }

  Kernel& kernel_;
  VarSet inside_;
  std::set<uint32_t> stored_;
  std::vector<Divisor> divisors_;
};

} // namespace

Kernel reciprocals(Kernel kernel) {
  if (kernel.numerics != program::Numerics::Rounding)
    return kernel;
  kernel.body = ReciprocalPass(kernel).block(kernel.body);
  return kernel;
}

} // namespace kawara::kernel
