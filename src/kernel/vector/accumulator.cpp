#include "kernel/vector/accumulator.h"

#include "kernel/analysis/elements.h"
#include "kernel/walk.h"
#include "scalar/loads.h"

#include <algorithm>

namespace kawara::kernel {

bool is_same_update(const Store& a, const Store& b) {
  return a.buffer == b.buffer && a.op == b.op &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

bool is_only_access(const Kernel& kernel, const Block& body, const Store& update,
                    const Ranges& inside) {
  const Element element = element_of(kernel, update);
  bool is_alone = !has(body, [&](const Store& store) {
    return store.buffer == update.buffer && !is_same_update(store, update);
  });
  visit_loads(body, [&](const scalar::Load& load, const Expr& e) {
    is_alone = is_alone &&
               (load.tensor != update.buffer || are_apart(element_of(e, load), element, inside));
  });
  return is_alone;
}

Expr whole_sum(const Accumulator& a) {
  std::vector<Expr> parts;
  for (const uint32_t var : a.vars)
    parts.push_back(scalar::var(var, a.type));
  for (; parts.size() > 1; parts.resize((parts.size() + 1) / 2))
    for (size_t p = 0; p < parts.size() / 2; ++p)
      parts[p] = scalar::combine(a.update.op, parts[p], parts[parts.size() - 1 - p]);
  return parts[0];
}

Store stored_sum(const Accumulator& a, const Expr& sum) {
  Store update = a.update;
  update.value = scalar::reduce(a.update.op, sum);
  update.origins.clear();
  return update;
}

} // namespace kawara::kernel
