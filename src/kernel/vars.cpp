#include "kernel/vars.h"

#include "kernel/walk.h"

namespace kawara::kernel {

using scalar::as;

VarSet vars_in(const Expr& e) {
  VarSet vars;
  scalar::visit(e, [&](const Expr& n) {
    if (const auto* v = as<scalar::Var>(n))
      vars.insert(v->id);
  });
  return vars;
}

bool mentions_any(const Expr& e, const VarSet& vars) {
  if (const auto* v = as<scalar::Var>(e))
    return vars.count(v->id) != 0;
  for (const Expr& kid : scalar::children(e))
    if (mentions_any(kid, vars))
      return true;
  return false;
}

bool mentions(const Expr& e, uint32_t var) { return mentions_any(e, {var}); }

VarSet vars_set_in(const Block& block) {
  VarSet vars;
  visit(block, [&](const Stmt& stmt) {
    if (const auto* loop = std::get_if<For>(&stmt))
      vars.insert(loop->var);
    else if (const auto* define = std::get_if<Define>(&stmt))
      vars.insert(define->var);
    else if (const auto* assign = std::get_if<Assign>(&stmt))
      vars.insert(assign->var);
    else if (const auto* combine = std::get_if<Combine>(&stmt))
      vars.insert(combine->var);
    else if (const auto* launch = std::get_if<Launch>(&stmt)) {
      vars.insert(launch->block_vars.begin(), launch->block_vars.end());
      vars.insert(launch->thread_vars.begin(), launch->thread_vars.end());
    }
  });
  return vars;
}

VarSet vars_set_in(const Stmt& stmt) { return vars_set_in(block_of(stmt)); }

Expr substitute_var(const Expr& e, uint32_t var, const Expr& value) {
  if (!mentions(e, var))
    return e;
  return scalar::simplify(scalar::rewrite(e, [&](const Expr& n) {
    const auto* v = as<scalar::Var>(n);
    return v != nullptr && v->id == var ? value : Expr();
  }));
}

Block substitute_var(const Block& block, uint32_t var, const Expr& value) {
  const auto substituted = [&](const Expr& e) { return substitute_var(e, var, value); };
  return map_origins(map_exprs(block, substituted), substituted);
}

Origins over_loop(Origins origins, const For& loop) {
  const Expr distance = loop.hi - loop.lo + scalar::int_lit(loop.step - 1);
  const Expr count =
      scalar::binary(scalar::BinaryOp::FloorDiv, distance, scalar::int_lit(loop.step));
  return over_iterations(std::move(origins), loop.var, loop.lo, loop.step, scalar::simplify(count));
}

Block with_fresh_defines(Kernel& kernel, const Block& block) {
  Block copy = block;
  for (size_t at = 0; at < copy.size(); ++at) {
    const auto* define = std::get_if<Define>(&copy[at]);
    const auto* combine = std::get_if<Combine>(&copy[at]);
    if (define == nullptr && combine == nullptr)
      continue;
    const uint32_t old_id = define != nullptr ? define->var : combine->var;
    const Variable old = kernel.variables[old_id];
    const uint32_t id = add_variable(kernel, old.name, old.type);
    const auto renamed = [&](const Expr& e) {
      return scalar::rewrite(e, [&](const Expr& n) {
        const auto* v = as<scalar::Var>(n);
        return v != nullptr && v->id == old_id ? scalar::var(id, old.type) : Expr();
      });
    };
    copy = map_origins(map_exprs(copy, renamed), renamed);
    copy = rewrite(copy, [&](Stmt stmt) {
      if (auto* d = std::get_if<Define>(&stmt); d != nullptr && d->var == old_id)
        d->var = id;
      if (auto* c = std::get_if<Combine>(&stmt); c != nullptr && c->var == old_id)
        c->var = id;
      if (auto* a = std::get_if<Assign>(&stmt); a != nullptr && a->var == old_id)
        a->var = id;
      return block_of(std::move(stmt));
    });
  }
  return copy;
}

std::set<uint32_t> buffers_stored_in(const Block& block) {
  std::set<uint32_t> stored;
  visit(block, [&](const Stmt& stmt) {
    if (const auto* store = std::get_if<Store>(&stmt))
      stored.insert(store->buffer);
    else if (const auto* zero = std::get_if<Zero>(&stmt))
      stored.insert(zero->buffer);
    else if (const auto* async_op = std::get_if<AsyncOp>(&stmt))
      for (const uint32_t buffer : written_by(*async_op))
        stored.insert(buffer);
  });
  return stored;
}

bool has_load(const Expr& e) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) { found |= as<scalar::Load>(n) != nullptr; });
  return found;
}

} // namespace kawara::kernel
