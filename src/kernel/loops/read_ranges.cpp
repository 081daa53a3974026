#include "kernel/loops/read_ranges.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

/// A check of the loop's own value.
const scalar::Within* check_of(const Expr& e, uint32_t var) {
  const auto* check = as<scalar::Within>(e);
  const auto* index = check != nullptr ? as<scalar::Var>(check->index) : nullptr;
  return index != nullptr && index->id == var ? check : nullptr;
}

class ReadRange {
public:
  ReadRange(Kernel& kernel, For loop) : kernel_(kernel), loop_(std::move(loop)) {}

  Block with_checked_ends() {
    std::vector<Expr> checks; // one for each dimension
    loop_.body = map_exprs(loop_.body, [&](const Expr& root) {
      return scalar::rewrite(root, [&](const Expr& e) {
        const auto* check = check_of(e, loop_.var);
        if (check == nullptr)
          return Expr();
        const Expr own = e;
        if (std::none_of(checks.begin(), checks.end(),
                         [&](const Expr& known) { return scalar::equal(known, own); }))
          checks.push_back(own);
        return Expr(check->index);
      });
    });
    if (checks.empty())
      return block_of(std::move(loop_));
    // Without an iteration nothing is outside.
    const Expr runs = scalar::binary(BinaryOp::Lt, loop_.lo, loop_.hi);
    Block inside;
    const auto checked = [&](Expr at, const char* suffix) {
      for (const Expr& check : checks) {
        const auto& n = *as<scalar::Within>(check);
        at = scalar::within(at, n.extent, n.tensor, n.dim);
      }
      const std::string name = kernel_.variables[loop_.var].name + suffix;
      const uint32_t var = add_variable(kernel_, name, scalar::kIndex);
      inside.emplace_back(Define{var, at});
      return scalar::var(var);
    };
    loop_.lo = checked(loop_.lo, "_first");
    loop_.hi = checked(loop_.hi - int_lit(1), "_last") + int_lit(1);
    inside.emplace_back(std::move(loop_));
    return block_of(If{runs, std::move(inside), {}});
  }

private:
  Kernel& kernel_;
  For loop_;
};

} // namespace

Kernel read_ranges(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = rewrite(body, [&](For loop) {
    if (!has_load(loop.lo) && !has_load(loop.hi))
      return block_of(std::move(loop));
    loop.marks.unroll = 1;
    return ReadRange(kernel, std::move(loop)).with_checked_ends();
  });
  return kernel;
}

} // namespace kawara::kernel
