#include "kernel/math/exact_functions.h"

#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using scalar::BinaryOp;
using scalar::Elem;
using scalar::UnaryOp;

bool differs_in_f64(UnaryOp op) {
  switch (op) {
  case UnaryOp::Exp:
  case UnaryOp::Log:
  case UnaryOp::Exp2:
  case UnaryOp::Log2:
  case UnaryOp::Rsqrt:
  case UnaryOp::Tanh:
  case UnaryOp::Erf:
  case UnaryOp::Sigmoid:
  case UnaryOp::Sin:
  case UnaryOp::Cos:
    return true;
  default:
    return false;
  }
}

bool is_function(const Expr& e) {
  const auto* one = scalar::as<scalar::Unary>(e);
  const auto* two = scalar::as<scalar::Binary>(e);
  return e.type().elem == Elem::F32 &&
         ((one != nullptr && differs_in_f64(one->op)) ||
          (two != nullptr && (two->op == BinaryOp::Pow || two->op == BinaryOp::Atan2)));
}

Expr in_f64(const Expr& e) {
  if (!is_function(e))
    return Expr();
  std::vector<Expr> wide;
  for (const Expr& arg : scalar::children(e))
    wide.push_back(scalar::cast(arg, {Elem::F64, e.type().lanes}));
  return scalar::cast(scalar::with_children(e, std::move(wide)), e.type());
}

} // namespace

Kernel exact_functions(Kernel kernel) {
  if (kernel.numerics != program::Numerics::Exact)
    return kernel;
  Block body = rewrite(kernel.body, [](Stmt stmt) {
    if (auto* store = std::get_if<Store>(&stmt))
      store->value = scalar::rewrite(store->value, in_f64);
    else if (auto* define = std::get_if<Define>(&stmt))
      define->value = scalar::rewrite(define->value, in_f64);
    else if (auto* assign = std::get_if<Assign>(&stmt))
      assign->value = scalar::rewrite(assign->value, in_f64);
    return Block{std::move(stmt)};
  });
  kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
