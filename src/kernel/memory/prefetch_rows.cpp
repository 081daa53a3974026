#include "kernel/memory/prefetch_rows.h"

#include "kernel/memory/touched_lines.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

/// Whether the loop's variable says which row of the buffer it is, and not which element of the
/// row.
bool moves_rows(const std::vector<Expr>& index, uint32_t var) {
  return index.size() > 1 && std::any_of(index.begin(), index.end() - 1,
                                         [&](const Expr& e) { return mentions_any(e, {var}); });
}

} // namespace

bool prefetch_rows(const Kernel& kernel, For& loop, const poly::Prefetched& mark) {
  const Expr later = var_expr(kernel, loop.var) + scalar::int_lit(mark.ahead * loop.step);
  return change_innermost_loops(loop.body, [&](For& inner) {
    const VarSet set = vars_set_in(inner.body);
    Block body;
    for (std::vector<Expr>& index : touched_lines(kernel, mark.tensor, inner.body)) {
      const auto mentions = [&](const VarSet& vars) {
        return std::any_of(index.begin(), index.end(),
                           [&](const Expr& e) { return mentions_any(e, vars); });
      };
      if (mentions(set) || !mentions({loop.var}) || !moves_rows(index, inner.var))
        continue;
      for (Expr& e : index)
        e = scalar::simplify(substitute_var(e, loop.var, later));
      body.emplace_back(Prefetch{mark.tensor, std::move(index)});
    }
    const bool found = !body.empty();
    append(body, std::move(inner.body));
    inner.body = std::move(body);
    return found;
  });
}

} // namespace kawara::kernel
