#include "kernel/math/unshifted_exp.h"

#include "kernel/analysis/fixed.h"
#include "kernel/math/expand_math.h"
#include "kernel/walk.h"
#include "scalar/expand/expansion.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;

/// exp(nan_min(0, x - m)) * kRowExpScale
bool is_of_row(const Expr& e) {
  const auto* product = as<scalar::Binary>(e);
  return product != nullptr && scalar::is_scaled_exp(e) &&
         scalar::is_exp_below_zero(product->lhs) &&
         scalar::is_number(product->rhs, scalar::kRowExpScale);
}

size_t count_in(const Block& block) {
  size_t count = 0;
  visit_exprs(block, [&](const Expr& root) {
    scalar::visit(root, [&](const Expr& e) { count += is_of_row(e) ? 1 : 0; });
  });
  return count;
}

class Unshifter {
public:
  Block block(const Block& body) {
    return with_each_replaced(body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt);
      if (std::holds_alternative<Store>(stmt) || (loop != nullptr && is_innermost(*loop)))
        return unshifted(stmt);
      return with_nested_blocks(stmt, [&](const Block& inner) { return block(inner); });
    });
  }
  size_t replaced_count() const { return count_; }

private:
  static bool is_innermost(const For& loop) {
    return !loop.marks.is_parallel && !has<For>(loop.body);
  }

  Stmt unshifted(const Stmt& stmt) {
    const Block whole = block_of(stmt);
    const auto* loop = std::get_if<For>(&stmt);
    inside_ = vars_set_in(stmt);
    stored_ = buffers_stored_in(stmt);
    subtrahends_.clear();
    Block quick = map_exprs(whole, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) { return replaced(e); });
    });
    if (subtrahends_.empty())
      return stmt;
    Expr condition = loop != nullptr ? scalar::binary(BinaryOp::Lt, loop->lo, loop->hi) : Expr();
    for (const Expr& m : subtrahends_) {
      const Expr is_small = scalar::binary(BinaryOp::Le, scalar::unary(scalar::UnaryOp::Abs, m),
                                           scalar::float_lit(scalar::kLargestUnshifted, m.type()));
      condition = condition ? scalar::binary(BinaryOp::And, condition, is_small) : is_small;
    }
    return If{condition, std::move(quick), whole};
  }

  Expr replaced(const Expr& e) {
    if (!is_of_row(e))
      return {};
    const auto* product = as<scalar::Binary>(e);
    const Expr m = scalar::subtrahend_in(product->lhs);
    if (!m || m.type().lanes != 1 || !is_fixed(m, inside_, stored_))
      return {};
    if (std::none_of(subtrahends_.begin(), subtrahends_.end(),
                     [&](const Expr& known) { return scalar::equal(known, m); }))
      subtrahends_.push_back(m);
    ++count_;
    const auto* below = as<scalar::Binary>(as<scalar::Unary>(product->lhs)->arg);
    return scalar::unshifted_exp(as<scalar::Binary>(below->rhs)->lhs) * product->rhs;
  }

  VarSet inside_;
  std::set<uint32_t> stored_;
  std::vector<Expr> subtrahends_;
  size_t count_ = 0;
};

} // namespace

Kernel unshifted_exp(Kernel kernel, const target::Cpu& cpu) {
  if (kernel.numerics == program::Numerics::Exact || !has_formulas(cpu))
    return kernel;
  // All that meet in a sum, or none.
  Unshifter pass;
  Block body = pass.block(kernel.body);
  if (pass.replaced_count() == count_in(kernel.body))
    kernel.body = std::move(body);
  return kernel;
}

} // namespace kawara::kernel
