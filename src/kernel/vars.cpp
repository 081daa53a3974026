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

namespace {

template <OneOf<Block, Stmt> B> VarSet set_in(const B& root) {
  VarSet vars;
  visit(root, [&]<Kind S>(const S& stmt) {
    if constexpr (OneOf<S, For, Define, Assign, Combine>)
      vars.insert(stmt.var);
    else if constexpr (OneOf<S, Launch>) {
      vars.insert(stmt.block_vars.begin(), stmt.block_vars.end());
      vars.insert(stmt.thread_vars.begin(), stmt.thread_vars.end());
    } else
      static_assert(
          OneOf<S, If, Allocate, Store, Zero, Prefetch, Comment, Barrier, Commit, Await, AsyncOp>);
  });
  return vars;
}

template <OneOf<Block, Stmt> B> std::set<uint32_t> stored_in(const B& root) {
  std::set<uint32_t> stored;
  visit(root, [&]<Kind S>(const S& stmt) {
    if constexpr (OneOf<S, Store, Zero>)
      stored.insert(stmt.buffer);
    else if constexpr (OneOf<S, AsyncOp>)
      for (const uint32_t buffer : written_by(stmt))
        stored.insert(buffer);
    else
      static_assert(OneOf<S, For, If, Allocate, Launch, Define, Assign, Prefetch, Comment, Barrier,
                          Commit, Await, Combine>);
  });
  return stored;
}

} // namespace

VarSet vars_set_in(const Block& block) { return set_in(block); }
VarSet vars_set_in(const Stmt& stmt) { return set_in(stmt); }
std::set<uint32_t> buffers_stored_in(const Block& block) { return stored_in(block); }
std::set<uint32_t> buffers_stored_in(const Stmt& stmt) { return stored_in(stmt); }

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
    visit(copy, [&](OneOf<Define, Combine, Assign> auto& stmt) {
      if (stmt.var == old_id)
        stmt.var = id;
    });
  }
  return copy;
}

bool has_load(const Expr& e) {
  bool found = false;
  scalar::visit(e, [&](const Expr& n) { found |= as<scalar::Load>(n) != nullptr; });
  return found;
}

} // namespace kawara::kernel
