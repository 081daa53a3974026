#include "validate/conditions.h"

#include "poly/affine.h"

namespace kawara::validate {

using scalar::binary;
using scalar::BinaryOp;
using scalar::Expr;

namespace {

std::optional<BinaryOp> opposite(BinaryOp op) {
  switch (op) {
  case BinaryOp::Lt:
    return BinaryOp::Ge;
  case BinaryOp::Ge:
    return BinaryOp::Lt;
  case BinaryOp::Gt:
    return BinaryOp::Le;
  case BinaryOp::Le:
    return BinaryOp::Gt;
  case BinaryOp::Ne:
    return BinaryOp::Eq;
  default:
    return std::nullopt;
  }
}

std::optional<isl::set> comparison(BinaryOp op, const isl::aff& lhs, const isl::aff& rhs) {
  switch (op) {
  case BinaryOp::Lt:
    return lhs.lt_set(rhs);
  case BinaryOp::Le:
    return lhs.le_set(rhs);
  case BinaryOp::Gt:
    return lhs.gt_set(rhs);
  case BinaryOp::Ge:
    return lhs.ge_set(rhs);
  case BinaryOp::Eq:
    return lhs.eq_set(rhs);
  default:
    return std::nullopt;
  }
}

} // namespace

isl::set restricted(const isl::set& domain, const Expr& condition,
                    const std::vector<program::Param>& params) {
  if (const auto* no = scalar::as<scalar::Unary>(condition); no != nullptr)
    if (const auto* b = scalar::as<scalar::Binary>(no->arg))
      if (const auto op = opposite(b->op))
        return restricted(domain, binary(*op, b->lhs, b->rhs), params);
  const auto* b = scalar::as<scalar::Binary>(condition);
  if (b != nullptr && b->op == BinaryOp::And)
    return restricted(restricted(domain, b->lhs, params), b->rhs, params);
  if (b != nullptr && b->lhs.type() == scalar::kIndex) {
    const auto lhs = poly::plain_function(b->lhs, domain.space(), params);
    const auto rhs = poly::plain_function(b->rhs, domain.space(), params);
    if (lhs && rhs)
      if (const auto half = comparison(b->op, *lhs, *rhs))
        return domain.intersect(*half);
  }
  return poly::set_from_condition(condition, domain, params);
}

} // namespace kawara::validate
