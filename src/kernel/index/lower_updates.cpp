#include "kernel/index/lower_updates.h"

#include "kernel/walk.h"

namespace kawara::kernel {

Kernel lower_updates(Kernel kernel) {
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto* store = std::get_if<Store>(&stmt);
    if (store == nullptr || store->op == ReduceOp::None)
      return block_of(std::move(stmt));
    const scalar::Type type{kernel.buffers[store->buffer].elem, store->value.type().lanes};
    const scalar::Type computed{scalar::compute_type(type.elem), type.lanes};
    const Expr old = scalar::cast(scalar::load(store->buffer, store->index, type), computed);
    store->value = scalar::combine(store->op, old, store->value);
    store->op = ReduceOp::None;
    return block_of(std::move(stmt));
  });
  return kernel;
}

} // namespace kawara::kernel
