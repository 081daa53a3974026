#include "kernel/index/hoist.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::Binary;
using scalar::BinaryOp;

bool is_constant(const Expr& e) { return scalar::constant_of(e).has_value(); }

/// Worth a variable: more than sums of scaled variables.
bool is_costly(const Expr& root) {
  bool found = false;
  scalar::visit(root, [&](const Expr& e) {
    const auto* n = as<Binary>(e);
    if (n == nullptr)
      return;
    found |= n->op == BinaryOp::FloorDiv || n->op == BinaryOp::Mod || n->op == BinaryOp::Min ||
             n->op == BinaryOp::Max ||
             (n->op == BinaryOp::Mul && !is_constant(n->lhs) && !is_constant(n->rhs));
  });
  return found;
}

/// May be computed where the loop would not have run.
bool is_safe(const Expr& root) {
  bool is_fine = true;
  scalar::visit(root, [&](const Expr& e) {
    is_fine = is_fine && as<scalar::Load>(e) == nullptr && as<scalar::Within>(e) == nullptr &&
              e.type().lanes == 1;
    const auto* n = as<Binary>(e);
    if (n != nullptr && (n->op == BinaryOp::FloorDiv || n->op == BinaryOp::Mod)) {
      const auto divisor = scalar::constant_of(n->rhs);
      is_fine = is_fine && divisor && *divisor != 0;
    }
  });
  return is_fine;
}

class Hoister {
public:
  explicit Hoister(Kernel& kernel) : kernel_(kernel) {}

  /// Outer loops first, so that everything goes as far out as it can.
  Block block(const Block& statements) {
    return with_each_replaced(statements, [&](Stmt stmt) {
      Block result;
      if (auto* loop = std::get_if<For>(&stmt))
        result = moved_before(*loop);
      for_blocks(stmt, [&](Block& inside) { inside = block(inside); });
      result.push_back(std::move(stmt));
      return result;
    });
  }

private:
  struct Moved {
    Expr value, variable;
  };

  /// Takes what the loop does not change out of it.
  Block moved_before(For& loop) {
    VarSet inside = vars_set_in(loop.body);
    inside.insert(loop.var);
    std::vector<Moved> moved;
    const std::string name = kernel_.variables[loop.var].name;
    if (!loop.marks.is_parallel) {
      // Ends of inner loops are named after them.
      visit(loop.body, [&](const For& inner) {
        if (moves(inner.hi, inside))
          variable_for(inner.hi, kernel_.variables[inner.var].name + "_end", moved);
      });
      loop.body = map_exprs(loop.body, [&](const Expr& e) { return replaced(e, inside, moved); });
    }
    if (moves(loop.hi, {}))
      loop.hi = variable_for(loop.hi, name + "_end", moved);
    Block defines;
    for (const Moved& m : moved)
      defines.push_back(Define{as<scalar::Var>(m.variable)->id, m.value});
    return defines;
  }

  static bool moves(const Expr& e, const VarSet& inside) {
    return e.type() == scalar::kIndex && !mentions_any(e, inside) && is_costly(e) && is_safe(e);
  }

  Expr variable_for(const Expr& value, const std::string& name, std::vector<Moved>& moved) {
    for (const Moved& m : moved)
      if (equal(m.value, value))
        return m.variable;
    moved.push_back({value, scalar::var(add_variable(kernel_, name, scalar::kIndex))});
    return moved.back().variable;
  }

  Expr replaced(const Expr& e, const VarSet& inside, std::vector<Moved>& moved) {
    if (moves(e, inside))
      return variable_for(e, "fixed", moved);
    std::vector<Expr> kids = scalar::children(e);
    bool is_changed = false;
    for (Expr& kid : kids) {
      const Expr now = replaced(kid, inside, moved);
      is_changed |= !now.is_same_object(kid);
      kid = now;
    }
    return is_changed ? scalar::with_children(e, std::move(kids)) : e;
  }

  Kernel& kernel_;
};

} // namespace

Kernel hoist(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Hoister(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
