#include "kernel/index/simplify.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

Block shortened(Kernel& kernel, Stmt stmt) {
  if (auto* branch = std::get_if<If>(&stmt)) {
    if (const auto cond = scalar::constant_of(branch->cond))
      return with_fresh_defines(kernel, *cond != 0 ? branch->then : branch->otherwise);
    if (branch->then.empty() && branch->otherwise.empty())
      return {};
    if (branch->then.empty()) {
      branch->cond = scalar::simplify(scalar::unary(scalar::UnaryOp::Not, branch->cond));
      std::swap(branch->then, branch->otherwise);
    }
  }
  if (auto* loop = std::get_if<For>(&stmt)) {
    const auto trips = trip_count(*loop);
    if (loop->body.empty() || trips == 0)
      return {};
    if (trips == 1)
      return with_fresh_defines(kernel, substitute_var(loop->body, loop->var, loop->lo));
  }
  if (auto* allocate = std::get_if<Allocate>(&stmt); allocate != nullptr && allocate->body.empty())
    return {};
  return block_of(std::move(stmt));
}

} // namespace

Kernel simplify(Kernel kernel) {
  visit_exprs(kernel.body, [](Expr& e) { e = scalar::simplify(e); });
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) { return shortened(kernel, std::move(stmt)); });
  return kernel;
}

} // namespace kawara::kernel
