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
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && !loop->marks.prefetches.empty()) {
      Block made = prefetches(kernel, *loop);
      made.insert(made.end(), std::make_move_iterator(loop->body.begin()),
                  std::make_move_iterator(loop->body.end()));
      loop->body = std::move(made);
      loop->marks.prefetches.clear();
    }
    return block_of(std::move(stmt));
  });
  return kernel;
}

} // namespace kawara::kernel
