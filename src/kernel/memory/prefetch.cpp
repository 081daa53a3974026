#include "kernel/memory/prefetch.h"

#include "kernel/memory/prefetch_copied.h"
#include "kernel/memory/prefetch_panel.h"
#include "kernel/memory/prefetch_rows.h"
#include "kernel/memory/touched_lines.h"
#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::kernel {
namespace {

Block prefetches(const Kernel& kernel, For& loop) {
  Block made;
  const VarSet inside = vars_set_in(loop.body);
  for (const poly::Prefetched& mark : loop.marks.prefetches) {
    if (prefetch_panel(kernel, loop, mark) || prefetch_copied(kernel, loop, mark) ||
        prefetch_rows(kernel, loop, mark))
      continue;
    const Expr later = var_expr(kernel, loop.var) + scalar::int_lit(mark.ahead * loop.step);
    for (std::vector<Expr>& index : touched_lines(kernel, mark.tensor, loop.body)) {
      bool is_known = true;
      for (Expr& e : index) {
        is_known = is_known && !mentions_any(e, inside);
        e = substitute_var(e, loop.var, later);
      }
      if (is_known)
        made.emplace_back(Prefetch{mark.tensor, std::move(index)});
    }
  }
  return made;
}

} // namespace

Kernel prefetch(Kernel kernel) {
  kernel.body = rewrite(kernel.body, [&](For loop) -> Stmt {
    if (!loop.marks.prefetches.empty()) {
      Block made = prefetches(kernel, loop);
      append(made, std::move(loop.body));
      loop.body = std::move(made);
      loop.marks.prefetches.clear();
    }
    return loop;
  });
  return kernel;
}

} // namespace kawara::kernel
