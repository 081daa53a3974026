#include "kernel/vector/running_lanes.h"

#include "kernel/vars.h"
#include "scalar/loads.h"
#include "scalar/running_value.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

bool is_equal_index(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Expr& x, const Expr& y) {
    return scalar::constant_of(scalar::simplify(x - y)) == 0;
  });
}

} // namespace

bool reads_own_buffer(const Store& store) {
  const auto loads = scalar::loads_in(store.value);
  return std::any_of(loads.begin(), loads.end(),
                     [&](const scalar::Load* load) { return load->tensor == store.buffer; });
}

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
                                                is_equal_index(load.index, index_before);
                                       });
  if (!running)
    return std::nullopt;
  Store terms = store;
  terms.op = scalar::ReduceOp::None;
  terms.value = std::move(running->term);
  return RunningLanes{store, std::move(terms), running->op, std::move(running->old), 0};
}

} // namespace kawara::kernel
