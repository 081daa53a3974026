#include "emit/cuda/update_columns.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::emit {
namespace {

constexpr size_t kLeastUpdates = 4;

/// The vector that an update multiplies with, null when there is none or several: in c + a * b with
/// `a` the same for all lanes, b.
scalar::Expr factor_of(const kernel::Assign& update) {
  scalar::Expr factor;
  size_t found = 0;
  scalar::visit(update.value, [&](const scalar::Expr& e) {
    const auto* var = scalar::as<scalar::Var>(e);
    const bool is_own = var != nullptr && var->id == update.var;
    if (e.type().lanes == 1 || is_own || (var == nullptr && scalar::as<scalar::Load>(e) == nullptr))
      return;
    factor = e;
    ++found;
  });
  return found == 1 ? factor : scalar::Expr();
}

} // namespace

UpdateColumns update_columns(const kernel::Kernel& kernel, const kernel::Block& block,
                             size_t first) {
  UpdateColumns made;
  std::vector<scalar::Expr> factors;
  kernel::VarSet set;
  for (size_t n = first; n < block.size(); ++n) {
    const auto* update = std::get_if<kernel::Assign>(&block[n]);
    if (update == nullptr || kernel.variables[update->var].type.lanes == 1 ||
        set.contains(update->var) || kernel::mentions_any(update->value, set))
      break;
    const scalar::Expr factor = factor_of(*update);
    if (!factor)
      break;
    const auto same = std::find_if(factors.begin(), factors.end(),
                                   [&](const scalar::Expr& e) { return scalar::equal(e, factor); });
    if (same == factors.end()) {
      factors.push_back(factor);
      made.groups.push_back({update});
    } else
      made.groups[static_cast<size_t>(same - factors.begin())].push_back(update);
    set.insert(update->var);
    ++made.count;
  }
  return made.count >= kLeastUpdates ? made : UpdateColumns();
}

} // namespace kawara::emit
