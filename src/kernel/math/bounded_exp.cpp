#include "kernel/math/bounded_exp.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/expand/expansion.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

/// Loops, each the only statement of the one around it, and the stores inside, of which there is
/// nothing else.
struct StoreNest {
  std::vector<For*> loops;
  std::vector<Store*> stores;
};

std::optional<StoreNest> store_nest(Stmt& stmt) {
  StoreNest nest;
  Stmt* at = &stmt;
  for (auto* loop = std::get_if<For>(at); loop != nullptr; loop = std::get_if<For>(at)) {
    nest.loops.push_back(loop);
    if (loop->body.size() != 1) {
      for (Stmt& inner : loop->body)
        nest.stores.push_back(std::get_if<Store>(&inner));
      break;
    }
    at = &loop->body.front();
  }
  if (nest.stores.empty())
    nest.stores.push_back(std::get_if<Store>(at));
  const bool has_others = std::count(nest.stores.begin(), nest.stores.end(), nullptr) > 0;
  return has_others ? std::nullopt : std::optional(nest);
}

std::set<uint32_t> buffers_loaded_in(const Expr& e) {
  std::set<uint32_t> loaded;
  scalar::visit(e, [&](const Expr& part) {
    if (const auto* load = scalar::as<scalar::Load>(part))
      loaded.insert(load->tensor);
  });
  return loaded;
}

/// m[at] max= value for every iteration of the loops; still true where `block` goes on.
struct Fact {
  std::vector<const For*> loops;
  uint32_t buffer = 0;
  std::vector<Expr> at;
  Expr value;
};

/// Whether the fact, its loops being those of `nest`, says that a is at most m.
bool says(const Fact& fact, const StoreNest& nest, const Expr& a, const scalar::Load& m) {
  if (fact.buffer != m.tensor || fact.loops.size() != nest.loops.size() ||
      fact.at.size() != m.index.size())
    return false;
  std::map<uint32_t, Expr> as;
  const auto renamed = [&](const Expr& e) {
    return scalar::rewrite(e, [&](const Expr& part) -> Expr {
      const auto* v = scalar::as<scalar::Var>(part);
      const auto found = v == nullptr ? as.end() : as.find(v->id);
      return found == as.end() ? Expr() : found->second;
    });
  };
  for (size_t k = 0; k < nest.loops.size(); ++k) {
    const For &theirs = *fact.loops[k], &ours = *nest.loops[k];
    if (!scalar::equal(renamed(theirs.lo), ours.lo) ||
        !scalar::equal(renamed(theirs.hi), ours.hi) || theirs.step != ours.step)
      return false;
    as[theirs.var] = scalar::var(ours.var, scalar::kIndex);
  }
  for (size_t d = 0; d < fact.at.size(); ++d)
    if (!scalar::equal(renamed(fact.at[d]), m.index[d]))
      return false;
  return scalar::equal(renamed(fact.value), a);
}

class Bounder {
public:
  explicit Bounder(const Kernel& kernel) : kernel_(kernel) {}

  void walk(Block& block) {
    const std::vector<Fact> around = std::exchange(facts_, {});
    for (Stmt& stmt : block) {
      if (const auto nest = store_nest(stmt))
        visit_nest(*nest);
      else {
        forget(buffers_stored_in(stmt));
        for_blocks(stmt, [&](Block& inside) { walk(inside); });
      }
    }
    facts_ = around;
  }

private:
  void visit_nest(const StoreNest& nest) {
    std::set<uint32_t> stored;
    for (const Store* store : nest.stores)
      stored.insert(store->buffer);
    for (Store* store : nest.stores)
      store->value = bounded(store->value, nest, stored);
    const Store& store = *nest.stores.front();
    if (nest.stores.size() > 1 || store.op != ReduceOp::Max) {
      forget(stored);
      return;
    }
    // A greater value bounds what it bounded before; what was bounded must not change.
    std::erase_if(facts_,
                  [&](const Fact& f) { return buffers_loaded_in(f.value).contains(store.buffer); });
    // A narrower type would round the greatest value down.
    if (buffers_loaded_in(store.value).contains(store.buffer) ||
        kernel_.buffers[store.buffer].elem != store.value.type().elem)
      return;
    facts_.push_back(
        {{nest.loops.begin(), nest.loops.end()}, store.buffer, store.index, store.value});
  }

  Expr bounded(const Expr& value, const StoreNest& nest, const std::set<uint32_t>& stored) const {
    const auto changes = [&](uint32_t buffer) { return stored.contains(buffer); };
    return scalar::rewrite(value, [&](const Expr& e) -> Expr {
      const scalar::Load* m = e.type().lanes == 1 ? scalar::element_below_exp(e) : nullptr;
      if (m == nullptr || changes(m->tensor))
        return Expr();
      const Expr& exponent = scalar::as<scalar::Unary>(e)->arg;
      const Expr& minuend = scalar::as<scalar::Binary>(exponent)->lhs;
      const std::set<uint32_t> loaded = buffers_loaded_in(minuend);
      if (std::any_of(loaded.begin(), loaded.end(), changes) ||
          std::none_of(facts_.begin(), facts_.end(),
                       [&](const Fact& f) { return says(f, nest, minuend, *m); }))
        return Expr();
      const Expr zero = scalar::float_lit(0, e.type());
      return scalar::unary(scalar::UnaryOp::Exp,
                           scalar::binary(scalar::BinaryOp::NanMin, zero, exponent));
    });
  }

  void forget(const std::set<uint32_t>& stored) {
    std::erase_if(facts_, [&](const Fact& f) {
      const std::set<uint32_t> loaded = buffers_loaded_in(f.value);
      return stored.contains(f.buffer) ||
             std::any_of(stored.begin(), stored.end(),
                         [&](uint32_t id) { return loaded.contains(id); });
    });
  }

  const Kernel& kernel_;
  std::vector<Fact> facts_;
};

} // namespace

Kernel bounded_exp(Kernel kernel) {
  if (kernel.numerics == program::Numerics::Exact)
    return kernel;
  Block body = std::move(kernel.body);
  Bounder(kernel).walk(body);
  kernel.body = std::move(body);
  return kernel;
}

Kernel plain_exp(Kernel kernel) {
  kernel.body = map_exprs(kernel.body, [](const Expr& root) {
    return scalar::rewrite(root, [](const Expr& e) -> Expr {
      const auto* n = scalar::is_exp_below_zero(e) ? scalar::as<scalar::Unary>(e) : nullptr;
      return n == nullptr ? Expr() : scalar::unary(n->op, scalar::as<scalar::Binary>(n->arg)->rhs);
    });
  });
  return kernel;
}

} // namespace kawara::kernel
