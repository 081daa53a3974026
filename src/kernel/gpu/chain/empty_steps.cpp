#include "kernel/gpu/chain/empty_steps.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;

bool is_number(const Expr& e, double value) {
  const auto* number = as<scalar::FloatLit>(e);
  return number != nullptr && number->value == value;
}

/// x - x, x * 0, exp(0), x * 1 and x + 0, evaluated.
Expr without_neutral(const Expr& root) {
  return scalar::rewrite(root, [](const Expr& e) {
    if (const auto* unary = as<scalar::Unary>(e))
      return unary->op == scalar::UnaryOp::Exp && is_number(unary->arg, 0)
                 ? scalar::float_lit(1, e.type())
                 : Expr();
    const auto* n = as<scalar::Binary>(e);
    if (n == nullptr || !scalar::is_float(e.type().elem))
      return Expr();
    const bool is_zero = (n->op == BinaryOp::Sub && scalar::equal(n->lhs, n->rhs)) ||
                         (n->op == BinaryOp::Mul && (is_number(n->lhs, 0) || is_number(n->rhs, 0)));
    if (is_zero)
      return scalar::float_lit(0, e.type());
    const double neutral = n->op == BinaryOp::Mul ? 1 : 0;
    if (n->op != BinaryOp::Mul && n->op != BinaryOp::Add)
      return Expr();
    return is_number(n->rhs, neutral) ? n->lhs : is_number(n->lhs, neutral) ? n->rhs : Expr();
  });
}

/// The values of a row below the first, as expressions in those that it had before the step.
class EmptyStep {
public:
  EmptyStep(const ChainForm& form, const Expr& first, const std::set<uint32_t>& kept)
      : form_(form), first_(first), kept_(kept) {}

  bool keeps_all() {
    return std::all_of(form_.inside.begin(), form_.inside.end(),
                       [&](const ChainItem& item) {
                         const auto* product = std::get_if<ChainProduct>(&item);
                         return product != nullptr ? adds_nothing(*product)
                                                   : run(std::get<ChainNest>(item));
                       }) &&
           std::all_of(values_.begin(), values_.end(), [&](const auto& value) {
             return !kept_.contains(value.first) || is_own(value.second, value.first);
           });
  }

private:
  /// No iteration is left of the axis in such a row: some end of it grows with the row and is at
  /// most 0 in the last of them.
  bool is_empty(const TileAxis& axis, const TileAxis& rows) const {
    const std::vector<Expr> ends = operands_of(axis.hi, BinaryOp::Min);
    return std::any_of(ends.begin(), ends.end(), [&](const Expr& end) {
      const scalar::AffineSum sum = scalar::affine_sum(end);
      const bool grows = std::any_of(sum.terms.begin(), sum.terms.end(), [&](const auto& term) {
        const auto* v = as<scalar::Var>(term.first);
        return v != nullptr && v->id == rows.var && term.second > 0;
      });
      const Expr last = scalar::simplify(
          substitute_var(end, rows.var, scalar::simplify(first_ - scalar::int_lit(1))));
      return grows && scalar::constant_of(last).value_or(1) <= 0;
    });
  }

  bool adds_nothing(const ChainProduct& product) const {
    return !kept_.contains(product.result.buffer) || is_empty(product.depth, product.rows);
  }

  bool run(const ChainNest& nest) {
    const uint32_t buffer = nest.store.buffer;
    if (nest.columns && is_empty(*nest.columns, nest.rows))
      return true;
    // A combination along columns that are there.
    const auto own = form_.buffers.find(buffer);
    if (own == form_.buffers.end() || (nest.columns && !own->second.column))
      return false;
    const auto value = known(nest.store.value);
    if (!value)
      return false;
    if (nest.store.op == ReduceOp::None) {
      values_.insert_or_assign(buffer, *value);
      return true;
    }
    const auto old = known(scalar::load(buffer, nest.store.index, nest.store.value.type()));
    if (old)
      values_.insert_or_assign(buffer,
                               without_neutral(scalar::combine(nest.store.op, *old, *value)));
    return old.has_value();
  }

  /// The value with what is known of the row; nothing where it reads something that the step has
  /// not made.
  std::optional<Expr> known(const Expr& value) const {
    bool is_known = true;
    const Expr result = scalar::rewrite(value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || !form_.buffers.contains(load->tensor))
        return Expr();
      const auto found = values_.find(load->tensor);
      is_known = is_known && (found != values_.end() || kept_.contains(load->tensor));
      // Nests have variables of their own; what a row had before has no index.
      return found != values_.end() ? found->second : scalar::load(load->tensor, {}, e.type());
    });
    return is_known ? std::optional(without_neutral(result)) : std::nullopt;
  }

  static bool is_own(const Expr& value, uint32_t buffer) {
    const auto* load = as<scalar::Load>(value);
    return load != nullptr && load->tensor == buffer;
  }

  const ChainForm& form_;
  const Expr& first_;
  const std::set<uint32_t>& kept_;
  std::map<uint32_t, Expr> values_; ///< by buffer, of those that were stored
};

} // namespace

bool keeps_rows_without_columns(const ChainForm& form, const Expr& first,
                                const std::set<uint32_t>& kept) {
  return EmptyStep(form, first, kept).keeps_all();
}

} // namespace kawara::kernel
