#include "kernel/vector/stored_by_position.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

/// e // n * (n * f) + e % n * f is e * f.
void join_digits(scalar::AffineSum& sum) {
  for (auto& [high, factor] : sum.terms) {
    const auto* quotient = as<scalar::Binary>(high);
    if (quotient == nullptr || quotient->op != BinaryOp::FloorDiv)
      continue;
    const auto low = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const auto& term) {
      const auto* rest = as<scalar::Binary>(term.first);
      const auto divisor = scalar::constant_of(quotient->rhs);
      return rest != nullptr && rest->op == BinaryOp::Mod && divisor &&
             scalar::equal(rest->lhs, quotient->lhs) && scalar::equal(rest->rhs, quotient->rhs) &&
             term.second * *divisor == factor;
    });
    if (low == sum.terms.end())
      continue;
    factor = low->second;
    high = Expr(quotient->lhs);
    sum.terms.erase(low);
    return join_digits(sum);
  }
}

/// The same in all indices of loads.
Expr with_joined_digits(const Expr& value, uint32_t var) {
  return scalar::rewrite(value, [&](const Expr& e) {
    const auto* load = as<scalar::Load>(e);
    if (load == nullptr)
      return Expr();
    std::vector<Expr> index = load->index;
    for (Expr& at : index)
      if (at.type() == scalar::kIndex && mentions(at, var)) {
        scalar::AffineSum sum = scalar::affine_sum(at);
        join_digits(sum);
        at = scalar::expr_of(sum);
      }
    return scalar::load(load->tensor, std::move(index), e.type());
  });
}

/// Elements of a packed buffer that this many apart others fill up: they are stored together
/// (emit/llvm/transpose.cpp).
bool takes_turns(int64_t apart) { return apart == 2 || apart == 4; }

} // namespace

Block stored_by_position(const Kernel& kernel, Block body, uint32_t var) {
  for (Stmt& stmt : body) {
    auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr || store->index.empty())
      continue;
    const Buffer& buffer = kernel.buffers[store->buffer];
    const auto dims = std::count_if(store->index.begin(), store->index.end(),
                                    [&](const Expr& e) { return mentions(e, var); });
    if (dims < (buffer.is_packed && !mentions(store->index.back(), var) ? 1 : 2) ||
        store->index.size() != buffer.shape.size())
      continue;
    Expr flat = int_lit(0);
    for (size_t d = 0; d < store->index.size(); ++d)
      flat = flat * buffer.shape[d] + store->index[d];
    scalar::AffineSum sum = scalar::affine_sum(flat);
    join_digits(sum);
    sum = scalar::affine_sum(scalar::expr_of(sum));
    const bool is_run = std::all_of(sum.terms.begin(), sum.terms.end(), [&](const auto& term) {
      const bool fits = term.second == 1 || (buffer.is_packed && takes_turns(term.second));
      return !mentions(term.first, var) || (as<scalar::Var>(term.first) != nullptr && fits);
    });
    if (!is_run)
      continue;
    store->index = {scalar::expr_of(sum)};
    store->value = with_joined_digits(store->value, var);
  }
  return body;
}

} // namespace kawara::kernel
