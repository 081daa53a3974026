#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

using ExprMap = std::function<Expr(const Expr&)>;

/// The blocks inside a statement, in text order.
template <class S> auto blocks_of(S& stmt) {
  using B = std::conditional_t<std::is_const_v<S>, const Block, Block>;
  std::vector<B*> blocks;
  if (auto* branch = std::get_if<If>(&stmt))
    blocks = {&branch->then, &branch->otherwise};
  else if (auto* loop = std::get_if<For>(&stmt))
    blocks = {&loop->body};
  else if (auto* allocate = std::get_if<Allocate>(&stmt))
    blocks = {&allocate->body};
  else if (auto* launch = std::get_if<Launch>(&stmt))
    blocks = {&launch->body};
  return blocks;
}

/// The expressions of a statement itself, not of its blocks.
template <class S> auto exprs_of(S& stmt) {
  using E = std::conditional_t<std::is_const_v<S>, const Expr, Expr>;
  std::vector<E*> exprs;
  if (auto* loop = std::get_if<For>(&stmt))
    exprs = {&loop->lo, &loop->hi};
  else if (auto* branch = std::get_if<If>(&stmt))
    exprs = {&branch->cond};
  else if (auto* store = std::get_if<Store>(&stmt)) {
    for (auto& e : store->index)
      exprs.push_back(&e);
    exprs.push_back(&store->value);
  } else if (auto* prefetch = std::get_if<Prefetch>(&stmt)) {
    for (auto& e : prefetch->index)
      exprs.push_back(&e);
  } else if (auto* define = std::get_if<Define>(&stmt))
    exprs = {&define->value};
  else if (auto* assign = std::get_if<Assign>(&stmt))
    exprs = {&assign->value};
  else if (auto* combine = std::get_if<Combine>(&stmt))
    exprs = {&combine->value};
  else if (auto* async_op = std::get_if<AsyncOp>(&stmt))
    exprs = kernel::exprs_of(*async_op);
  else if (auto* launch = std::get_if<Launch>(&stmt))
    exprs = {&launch->blocks[0], &launch->blocks[1], &launch->blocks[2]};
  return exprs;
}

/// The origins of a statement; null where it cannot have any.
Origins* origins_in(Stmt& stmt) {
  if (auto* store = std::get_if<Store>(&stmt))
    return &store->origins;
  if (auto* define = std::get_if<Define>(&stmt))
    return &define->origins;
  if (auto* assign = std::get_if<Assign>(&stmt))
    return &assign->origins;
  if (auto* allocate = std::get_if<Allocate>(&stmt))
    return &allocate->origins;
  if (auto* async_op = std::get_if<AsyncOp>(&stmt))
    if (auto* product = std::get_if<Mma>(&async_op->what))
      return &product->origins;
  return nullptr;
}

} // namespace

Block rewrite(const Block& block, const std::function<Block(Stmt)>& f) {
  Block result;
  result.reserve(block.size());
  for (const Stmt& stmt : block) {
    Stmt copy = stmt;
    for (Block* inner : blocks_of(copy))
      *inner = rewrite(*inner, f);
    for (Stmt& s : f(std::move(copy)))
      result.push_back(std::move(s));
  }
  return result;
}

void visit(const Block& block, const std::function<void(const Stmt&)>& f) {
  for (const Stmt& stmt : block) {
    f(stmt);
    for (const Block* inner : blocks_of(stmt))
      visit(*inner, f);
  }
}

Block map_exprs(const Block& block, const ExprMap& f) {
  Block result = block;
  for (Stmt& stmt : result) {
    for (Expr* e : exprs_of(stmt))
      *e = f(*e);
    for (Block* inner : blocks_of(stmt))
      *inner = map_exprs(*inner, f);
  }
  return result;
}

Block map_origins(const Block& block, const ExprMap& f) {
  Block result = block;
  for (Stmt& stmt : result) {
    if (Origins* origins = origins_in(stmt))
      for (Origin& origin : *origins)
        for (std::vector<Expr>* list : {&origin.iters, &origin.points})
          for (Expr& e : *list)
            e = f(e);
    for (Block* inner : blocks_of(stmt))
      *inner = map_origins(*inner, f);
  }
  return result;
}

void visit_exprs(const Block& block, const std::function<void(const Expr&)>& f) {
  visit(block, [&](const Stmt& stmt) { visit_own_exprs(stmt, f); });
}

void visit_own_exprs(const Stmt& stmt, const std::function<void(const Expr&)>& f) {
  for (const Expr* e : exprs_of(stmt))
    f(*e);
}

Stmt map_own_exprs(const Stmt& stmt, const ExprMap& f) {
  Stmt copy = stmt;
  for (Expr* e : exprs_of(copy))
    *e = f(*e);
  return copy;
}

} // namespace kawara::kernel
