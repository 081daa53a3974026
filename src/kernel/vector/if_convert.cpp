#include "kernel/vector/if_convert.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

bool contains(const std::vector<Expr>& list, const Expr& e) {
  return std::any_of(list.begin(), list.end(), [&](const Expr& x) { return equal(x, e); });
}

/// Loads that are always done, and those in the arms of selects that `var` decides, each once.
struct Loads {
  std::vector<Expr> always, chosen;

  void add(const Expr& e, uint32_t var, bool is_always, bool is_chosen) {
    if (as<scalar::Load>(e) != nullptr) {
      if (is_always && !contains(always, e))
        always.push_back(e);
      if (is_chosen && !contains(chosen, e))
        chosen.push_back(e);
    }
    const auto* choice = as<scalar::Select>(e);
    if (choice == nullptr) {
      for (const Expr& kid : scalar::children(e))
        add(kid, var, is_always, is_chosen);
      return;
    }
    const bool differs = is_chosen || mentions(choice->cond, var);
    add(choice->cond, var, is_always, is_chosen);
    add(choice->then, var, false, differs);
    add(choice->otherwise, var, false, differs);
  }
};

class LoadLifter {
public:
  LoadLifter(Kernel& kernel, const For& loop, const Ranges& ranges)
      : kernel_(kernel), loop_(loop), ranges_(ranges) {
    ranges_.enter(loop);
    for (const Stmt& stmt : loop.body)
      if (const auto* store = std::get_if<Store>(&stmt)) {
        touched_.add(store->value, loop.var, true, false);
        touched_.always.push_back(
            scalar::load(store->buffer, store->index, {kernel.buffers[store->buffer].elem, 1}));
      } else if (const auto* define = std::get_if<Define>(&stmt)) {
        touched_.add(define->value, loop.var, true, false);
      }
  }

  Block run() {
    return rewrite(loop_.body, [&](Store store) { return lifted(std::move(store)); });
  }

private:
  Block lifted(Store store) {
    Loads loads;
    loads.add(store.value, loop_.var, true, false);
    Block result;
    for (const Expr& e : loads.chosen) {
      const auto& load = *as<scalar::Load>(e);
      const bool reads_index = std::any_of(load.index.begin(), load.index.end(),
                                           [](const Expr& i) { return has_load(i); });
      if (reads_index ||
          (!contains(loads.always, e) && !contains(touched_.always, e) && !is_inside(load)))
        continue;
      const uint32_t var =
          add_variable(kernel_, kernel_.buffers[load.tensor].name + "_value", e.type());
      result.emplace_back(Define{var, e});
      store.value = scalar::rewrite(store.value, [&](const Expr& n) {
        return equal(n, e) ? scalar::var(var, e.type()) : Expr();
      });
    }
    result.emplace_back(std::move(store));
    return result;
  }

  /// An element of an input that exists in every iteration: nobody writes it meanwhile.
  bool is_inside(const scalar::Load& load) const {
    const Buffer& buffer = kernel_.buffers[load.tensor];
    if (buffer.role != program::Role::Input)
      return false;
    for (size_t d = 0; d < load.index.size(); ++d) {
      const Expr room = scalar::simplify(buffer.shape[d] - load.index[d]);
      if (!ranges_.is_at_least(load.index[d], 0) || !ranges_.is_at_least(room, 1))
        return false;
    }
    return true;
  }

  Kernel& kernel_;
  const For& loop_;
  Ranges ranges_;
  Loads touched_; ///< what each iteration loads or stores in any case
};

} // namespace

Block if_convert(Kernel& kernel, const For& loop, const Ranges& ranges) {
  return LoadLifter(kernel, loop, ranges).run();
}

} // namespace kawara::kernel
