#include "kernel/vector/vector_expr.h"

#include "scalar/affine_sum.h"
#include "scalar/match.h"

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;
using scalar::Type;

/// May be computed for a lane that does not need it: no memory, no division by zero.
bool is_harmless(const Expr& e) {
  bool harmless = true;
  scalar::visit(e, [&](const Expr& n) {
    if (as<scalar::Load>(n) != nullptr || as<scalar::Within>(n) != nullptr)
      harmless = false;
    if (const auto* b = as<scalar::Binary>(n))
      if (b->op == BinaryOp::FloorDiv || b->op == BinaryOp::Mod) {
        const auto divisor = scalar::constant_of(b->rhs);
        harmless = harmless && divisor && *divisor != 0;
      }
  });
  return harmless;
}

} // namespace

bool VectorExpr::varies(const Expr& e) const {
  if (const auto* v = as<scalar::Var>(e))
    return v->id == var_ || vectors_.count(v->id) != 0;
  for (const Expr& kid : scalar::children(e))
    if (varies(kid))
      return true;
  return false;
}

/// Index sums that move by a constant from lane to lane, as one ramp. Empty when `e` is none.
Expr VectorExpr::index_algebra(const Expr& e) const {
  if (e.type() != scalar::kIndex)
    return Expr();
  const scalar::AffineSum sum = scalar::affine_sum(e);
  int64_t stride = 0;
  for (const auto& [term, factor] : sum.terms) {
    const auto* v = as<scalar::Var>(term);
    if (v != nullptr && v->id == var_)
      stride = factor * step_;
    else if (varies(term))
      return Expr();
  }
  return stride == 0 ? scalar::simplify(e) : scalar::ramp(scalar::simplify(e), stride, lanes_);
}

Expr VectorExpr::with_vector_children(const Expr& e) const {
  std::vector<Expr> kids;
  const bool is_load = as<scalar::Load>(e) != nullptr;
  for (const Expr& kid : scalar::children(e)) {
    kids.push_back(is_load ? (*this)(kid) : widened(kid));
    if (!kids.back())
      return Expr();
  }
  const Type type{e.type().elem, lanes_};
  if (const auto* n = as<scalar::Load>(e))
    return scalar::load(n->tensor, std::move(kids), type);
  if (as<scalar::Cast>(e) != nullptr)
    return scalar::cast(kids[0], type);
  return scalar::with_children(e, std::move(kids));
}

Expr VectorExpr::operator()(const Expr& e) const {
  if (!varies(e))
    return e;
  if (const Expr ramp = index_algebra(e))
    return ramp;
  if (const auto* v = as<scalar::Var>(e))
    return vectors_.at(v->id);
  if (const auto* n = as<scalar::Select>(e)) {
    if (varies(n->cond) && !(is_harmless(n->then) && is_harmless(n->otherwise)))
      return Expr();
    const Expr then = widened(n->then), otherwise = widened(n->otherwise);
    const Expr cond = varies(n->cond) ? widened(n->cond) : n->cond;
    return then && otherwise && cond ? scalar::select(cond, then, otherwise) : Expr();
  }
  return with_vector_children(e);
}

Expr VectorExpr::widened(const Expr& e) const {
  const Expr vector = (*this)(e);
  return vector && vector.type().lanes == 1 ? scalar::broadcast(vector, lanes_) : vector;
}

std::optional<Store> vector_store(const Store& store, const VectorExpr& vector) {
  if (store.index.empty())
    return std::nullopt;
  Store result = store;
  for (size_t d = 0; d < store.index.size(); ++d) {
    result.index[d] = vector(store.index[d]);
    const bool is_last = d + 1 == store.index.size();
    if (!result.index[d] || is_last != (result.index[d].type().lanes != 1))
      return std::nullopt;
  }
  const auto* ramp = scalar::as<scalar::Ramp>(result.index.back());
  result.value = vector.widened(store.value);
  if (ramp == nullptr || ramp->stride == 0 || !result.value)
    return std::nullopt;
  return result;
}

} // namespace kawara::kernel
