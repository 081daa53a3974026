#include "kernel/gpu/uniform_tiles.h"

#include "kernel/analysis/intervals.h"
#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

/// Conditions under which a block is full, and the body of such a block.
class FullBlock {
public:
  FullBlock(const Launch& launch, const Block& body) {
    inside_ = vars_set_in(body);
    for (size_t a = 0; a < 3; ++a) {
      inside_.insert(launch.thread_vars[a]);
      For range;
      range.var = launch.thread_vars[a];
      range.lo = int_lit(0);
      range.hi = int_lit(launch.threads[a]);
      intervals_.enter(range);
    }
    body_ = rewrite_scoped(
        body, intervals_, [&](For& loop) { loop.hi = full_end(loop.hi); },
        [&](If branch) {
          return branch.otherwise.empty() && holds(branch.cond) ? std::move(branch.then)
                                                                : block_of(std::move(branch));
        });
  }

  const Block& body() const { return body_; }
  const std::vector<Expr>& conditions() const { return conditions_; }
  bool is_changed() const { return is_changed_; }

private:
  /// min(8, N - 8*i): 8, when N - 8*i >= 8 for all threads.
  Expr full_end(const Expr& hi) {
    const std::vector<Expr> all = operands_of(hi, BinaryOp::Min);
    const auto constant =
        std::find_if(all.begin(), all.end(), [](const Expr& e) { return scalar::constant_of(e); });
    if (all.size() < 2 || constant == all.end())
      return hi;
    std::optional<Expr> kept;
    for (const Expr& e : all)
      if (&e == &*constant || !is_never_less(scalar::simplify(e - *constant)))
        kept = kept ? binary(BinaryOp::Min, *kept, e) : e;
    return *kept;
  }

  bool holds(const Expr& cond) {
    const auto* n = as<scalar::Binary>(cond);
    if (n == nullptr || n->lhs.type() != scalar::kIndex)
      return false;
    if (n->op == BinaryOp::Lt)
      return is_never_less(scalar::simplify(n->rhs - n->lhs - int_lit(1)));
    if (n->op == BinaryOp::Le)
      return is_never_less(scalar::simplify(n->rhs - n->lhs));
    if (n->op == BinaryOp::Gt)
      return is_never_less(scalar::simplify(n->lhs - n->rhs - int_lit(1)));
    return n->op == BinaryOp::Ge && is_never_less(scalar::simplify(n->lhs - n->rhs));
  }

  /// Is `e` 0 or more for all threads and inner iterations, perhaps under a condition on the block?
  bool is_never_less(const Expr& e) {
    if (e.type() != scalar::kIndex || has_load(e))
      return false;
    const scalar::AffineSum sum = scalar::affine_sum(e);
    scalar::AffineSum least;
    least.constant = sum.constant;
    for (const auto& [term, factor] : sum.terms) {
      if (!mentions_any(term, inside_)) {
        least.terms.emplace_back(term, factor);
        continue;
      }
      const scalar::Bounds bounds = intervals_.of(term);
      const auto end = factor > 0 ? bounds.low : bounds.high;
      if (!end)
        return false;
      least.constant += factor * *end;
    }
    const Expr value = scalar::simplify(scalar::expr_of(least));
    if (const auto c = scalar::constant_of(value)) {
      is_changed_ |= *c >= 0;
      return *c >= 0;
    }
    const Expr cond = scalar::simplify(binary(BinaryOp::Ge, value, int_lit(0)));
    if (std::none_of(conditions_.begin(), conditions_.end(),
                     [&](const Expr& known) { return scalar::equal(known, cond); }))
      conditions_.push_back(cond);
    is_changed_ = true;
    return true;
  }

  VarSet inside_;
  Intervals intervals_;
  Block body_;
  std::vector<Expr> conditions_;
  bool is_changed_ = false;
};

} // namespace

Kernel uniform_tiles(Kernel kernel, const Launch& launch) {
  const FullBlock full(launch, kernel.body);
  if (!full.is_changed())
    return kernel;
  if (full.conditions().empty()) {
    kernel.body = full.body();
    return kernel;
  }
  Expr all = full.conditions()[0];
  for (size_t c = 1; c < full.conditions().size(); ++c)
    all = binary(BinaryOp::And, all, full.conditions()[c]);
  kernel.body = block_of(If{scalar::simplify(all), full.body(), std::move(kernel.body)});
  return kernel;
}

} // namespace kawara::kernel
