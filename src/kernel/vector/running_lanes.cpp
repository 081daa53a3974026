#include "kernel/vector/running_lanes.h"

#include "kernel/vars.h"
#include "scalar/loads.h"
#include "scalar/running_value.h"

namespace kawara::kernel {

std::optional<RunningLanes> running_lanes(const Kernel& kernel, const For& loop,
                                          const Store& store) {
  const scalar::Elem elem = kernel.buffers[store.buffer].elem;
  if (elem != scalar::compute_type(elem) || elem != store.value.type().elem)
    return std::nullopt;
  const Expr before = scalar::var(loop.var) - scalar::int_lit(loop.step);
  std::vector<Expr> index_before = store.index;
  for (Expr& e : index_before)
    e = substitute_var(e, loop.var, before);
  auto running = scalar::running_value(scalar::load(store.buffer, store.index, {elem, 1}), store.op,
                                       store.value, [&](const scalar::Load& load) {
                                         return load.tensor == store.buffer &&
                                                scalar::is_same_place(load.index, index_before);
                                       });
  if (!running)
    return std::nullopt;
  Store terms = store;
  terms.op = scalar::ReduceOp::None;
  terms.value = std::move(running->term);
  return RunningLanes{store, std::move(terms), running->op, std::move(running->old), 0};
}

} // namespace kawara::kernel
