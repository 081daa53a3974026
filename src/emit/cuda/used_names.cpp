#include "emit/cuda/used_names.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

namespace kawara::emit {

using scalar::as;

UsedNames used_names(const kernel::Kernel& kernel, const kernel::Launch& launch) {
  UsedNames used;
  const auto note = [&](const scalar::Expr& root) {
    scalar::visit(root, [&](const scalar::Expr& e) {
      if (const auto* p = as<scalar::Param>(e))
        used.params.insert(p->index);
      if (const auto* v = as<scalar::Var>(e))
        used.variables.insert(v->id);
      if (const auto* l = as<scalar::Load>(e)) {
        used.buffers.insert(l->tensor);
        used.loaded.insert(l->tensor);
      }
    });
  };
  kernel::visit_exprs(launch.body, note);
  kernel::visit(launch.body, [&](const kernel::Store& store) {
    if (store.op != scalar::ReduceOp::None)
      used.loaded.insert(store.buffer);
  });
  used.buffers.merge(kernel::buffers_stored_in(launch.body));
  for (const uint32_t b : used.buffers)
    for (const scalar::Expr& extent : kernel.buffers[b].shape)
      note(extent);
  return used;
}

} // namespace kawara::emit
