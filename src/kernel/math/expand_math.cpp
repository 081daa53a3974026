#include "kernel/math/expand_math.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/expand/expansion.h"

namespace kawara::kernel {
namespace {

using scalar::as;

class Expander {
public:
  Expander(Kernel& kernel, const target::Cpu& cpu)
      : kernel_(kernel), is_fast_(kernel.numerics == program::Numerics::Fast),
        loads_rows_cheaply_(cpu.arch == target::Arch::Aarch64),
        denormals_(cpu.arch == target::Arch::Aarch64 ? scalar::Denormals::Fast
                                                     : scalar::Denormals::Slow) {}

  /// `value` without calls that have a formula; what it needs is defined at the end of `before`.
  Expr expand(const Expr& value, Block& before) {
    if (!has_calls(value))
      return value;
    if (as<scalar::Select>(value) != nullptr && has_load(value))
      return scalar::rewrite(value, [&](const Expr& e) { return formula_of(e, in_place); });
    const auto define = [&](std::string_view name, Expr named) {
      if (as<scalar::Var>(named) != nullptr)
        return named;
      const uint32_t var = add_variable(kernel_, std::string(name), named.type());
      const Expr stands_for = scalar::var(var, named.type());
      before.push_back(Define{var, std::move(named)});
      return stands_for;
    };
    if (scalar::is_scaled_exp(value))
      return scalar::expand_scaled_exp(with_expanded_arguments(value, before), define, denormals_);
    const Expr whole = with_expanded_children(value, before);
    const Expr formula = formula_of(whole, define);
    return formula ? formula : whole;
  }

private:
  static bool is_call(const Expr& e) {
    const auto* n = as<scalar::Unary>(e);
    return n != nullptr && scalar::has_expansion(n->op, e.type().elem);
  }

  static bool has_calls(const Expr& e) {
    bool found = false;
    scalar::visit(e, [&](const Expr& n) { found = found || is_call(n); });
    return found;
  }

  /// Of a product with a call: what the call is given.
  Expr with_expanded_arguments(const Expr& e, Block& before) {
    std::vector<Expr> kids = scalar::children(e);
    kids.front() = with_expanded_children(kids.front(), before);
    return scalar::with_children(e, std::move(kids));
  }

  Expr with_expanded_children(const Expr& e, Block& before) {
    std::vector<Expr> kids = scalar::children(e);
    for (Expr& kid : kids)
      kid = expand(kid, before);
    return scalar::with_children(e, std::move(kids));
  }

  static Expr in_place(std::string_view, Expr value) { return value; }

  Expr formula_of(const Expr& e, const scalar::Let& let) const {
    const auto* n = as<scalar::Unary>(e);
    if (!is_call(e))
      return {};
    // With vectors of four lanes a look-up takes less than the quick formula, with sixteen more.
    const bool looks_up = n->op == scalar::UnaryOp::Gelu && loads_rows_cheaply_;
    return scalar::expand(
        n->op, n->arg, is_fast_ && !looks_up ? scalar::Accuracy::Quick : scalar::Accuracy::Accurate,
        let, denormals_);
  }

  Kernel& kernel_;
  bool is_fast_, loads_rows_cheaply_;
  scalar::Denormals denormals_;
};

} // namespace

bool has_formulas(const target::Cpu& cpu) {
  return cpu.arch == target::Arch::Aarch64 || cpu.features.has(target::Feature::Fma);
}

Kernel expand_math(Kernel kernel, const target::Cpu& cpu) {
  if (kernel.numerics == program::Numerics::Exact || !has_formulas(cpu))
    return kernel;
  Expander expander(kernel, cpu);
  Block body = rewrite(kernel.body, [&](Stmt stmt) {
    Block result;
    if (auto* store = std::get_if<Store>(&stmt))
      store->value = expander.expand(store->value, result);
    else if (auto* define = std::get_if<Define>(&stmt))
      define->value = expander.expand(define->value, result);
    else if (auto* assign = std::get_if<Assign>(&stmt))
      assign->value = expander.expand(assign->value, result);
    result.push_back(std::move(stmt));
    return result;
  });
  kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
