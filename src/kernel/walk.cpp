#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

template <OneOf<Stmt> Any> auto* origins_in(Any& stmt) {
  using Found = std::conditional_t<std::is_const_v<Any>, const Origins, Origins>;
  return std::visit(
      []<class S>(S& kind) -> Found* {
        if constexpr (OneOf<S, Store, Define, Assign, Allocate>)
          return &kind.origins;
        else if constexpr (OneOf<S, AsyncOp>) {
          auto* product = std::get_if<Mma>(&kind.what);
          return product != nullptr ? &product->origins : nullptr;
        } else {
          static_assert(
              OneOf<S, For, If, Launch, Zero, Prefetch, Comment, Barrier, Commit, Await, Combine>);
          return nullptr;
        }
      },
      stmt);
}

} // namespace

const Origins* origins_of(const Stmt& stmt) { return origins_in(stmt); }
Origins* origins_of(Stmt& stmt) { return origins_in(stmt); }

Block map_exprs(Block block, const std::function<Expr(const Expr&)>& f) {
  visit_exprs(block, [&](Expr& e) { e = f(e); });
  return block;
}

Block map_origins(Block block, const std::function<Expr(const Expr&)>& f) {
  visit(block, [&](Stmt& stmt) {
    if (Origins* origins = origins_of(stmt))
      for (Origin& origin : *origins)
        for (std::vector<Expr>* list : {&origin.iters, &origin.points})
          for (Expr& e : *list)
            e = f(e);
  });
  return block;
}

Block map_accesses(Block block, const ChangeAccess& f) {
  visit_exprs(block, [&](Expr& root) {
    root = scalar::rewrite(root, [&](const Expr& e) -> Expr {
      const auto* load = scalar::as<scalar::Load>(e);
      if (load == nullptr)
        return {};
      uint32_t buffer = load->tensor;
      std::vector<Expr> index = load->index;
      return f(buffer, index) ? scalar::load(buffer, std::move(index), e.type()) : Expr();
    });
  });
  visit(block, [&](Store& store) { f(store.buffer, store.index); });
  return block;
}

} // namespace kawara::kernel
