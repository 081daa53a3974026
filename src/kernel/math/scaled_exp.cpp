#include "kernel/math/scaled_exp.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/expand/expansion.h"

#include <algorithm>
#include <set>

namespace kawara::kernel {
namespace {

using Buffers = std::set<uint32_t>;

bool is_zero(const Expr& e) {
  const auto* literal = scalar::as<scalar::FloatLit>(e);
  return literal != nullptr && literal->value == 0;
}

/// The buffer that the whole expression is an element of.
std::optional<uint32_t> element_of(const Expr& e) {
  const auto* load = scalar::as<scalar::Load>(e);
  return load == nullptr ? std::nullopt : std::optional(load->tensor);
}

bool loads_any(const Expr& e, const Buffers& buffers) {
  bool found = false;
  scalar::visit(e, [&](const Expr& part) {
    const auto* load = scalar::as<scalar::Load>(part);
    found = found || (load != nullptr && buffers.contains(load->tensor));
  });
  return found;
}

/// What becomes larger together: elements that hold exponentials, and sums of such elements.
class Family {
public:
  explicit Family(const Kernel& kernel) : kernel_(kernel) {
    for (uint32_t id = 0; id < kernel.buffers.size(); ++id)
      if (kernel.buffers[id].role == program::Role::Temp &&
          kernel.buffers[id].elem == scalar::Elem::F32)
        own_.insert(id);
    visit(kernel.body, [&](const Store& store) { stores_.push_back(&store); });
  }

  struct Found {
    Buffers first; ///< that hold exponentials alone, of which all that comes of them may be larger;
                   ///< empty if there are none
    double scale = scalar::kExpBelowZeroScale;
  };
  Found exponentials() const {
    Buffers first;
    for (const Store* store : stores_)
      if (is_exponential(*store))
        first.insert(store->buffer);
    Buffers all = first;
    for (size_t known = 0; known != all.size();) {
      known = all.size();
      for (const Store* store : stores_)
        if (const auto from = element_of(store->value); from && all.contains(*from))
          all.insert(store->buffer);
    }
    if (!is_closed(all))
      return {};
    Buffers everywhere = own_;
    visit(kernel_.body, [&](const Allocate& own) { everywhere.erase(own.buffer); });
    return {first, is_by_rows(kernel_.body, all, everywhere) ? scalar::kRowExpScale
                                                             : scalar::kExpBelowZeroScale};
  }

private:
  bool is_exponential(const Store& store) const {
    return store.op == ReduceOp::None && own_.contains(store.buffer) &&
           scalar::is_exp_below_zero(store.value);
  }

  /// Whether all that is in these buffers at a time comes of exponentials of differences with one
  /// subtrahend. `fresh` are buffers of which nothing is known but what `block` stores.
  bool is_by_rows(const Block& block, const Buffers& all, const Buffers& fresh) const {
    if (std::includes(fresh.begin(), fresh.end(), all.begin(), all.end()))
      return has_one_subtrahend(block);
    return std::all_of(block.begin(), block.end(), [&](const Stmt& stmt) {
      if (const auto* loop = std::get_if<For>(&stmt))
        return is_by_rows(loop->body, all, {});
      if (const auto* allocate = std::get_if<Allocate>(&stmt)) {
        Buffers more = fresh;
        more.insert(allocate->buffer);
        return is_by_rows(allocate->body, all, more);
      }
      const Buffers stored = buffers_stored_in(stmt);
      return std::none_of(stored.begin(), stored.end(),
                          [&](uint32_t buffer) { return all.contains(buffer); });
    });
  }

  bool has_one_subtrahend(const Block& block) const {
    const VarSet inside = vars_set_in(block);
    Expr one;
    bool is_one = true;
    for (const Stmt& stmt : block) {
      visit(stmt, [&](const Store& store) {
        if (!is_exponential(store))
          return;
        const Expr m = scalar::subtrahend_in(store.value);
        is_one = is_one && m && element_of(m) && !mentions_any(m, inside) &&
                 (!one || scalar::equal(one, m));
        one = m;
      });
      // Later it must not change.
      is_one = is_one && (!one || !buffers_stored_in(stmt).contains(*element_of(one)));
    }
    return is_one;
  }

  bool is_closed(const Buffers& all) const {
    for (const uint32_t buffer : all)
      if (!own_.contains(buffer))
        return false;
    size_t uses = 0, reads = 0;
    for (const Store* store : stores_) {
      const bool is_larger = all.contains(store->buffer);
      const auto from = element_of(store->value);
      const bool adds = from && all.contains(*from) &&
                        (store->op == ReduceOp::None || store->op == ReduceOp::Sum);
      if (is_larger && !adds && !is_exponential(*store) &&
          !(store->op == ReduceOp::None && is_zero(store->value)))
        return false;
      uses += adds ? 1 : 0;
      if (is_larger || !loads_any(store->value, all))
        continue;
      const auto* quotient = scalar::as<scalar::Binary>(store->value);
      const auto above = quotient == nullptr ? std::nullopt : element_of(quotient->lhs);
      const auto below = quotient == nullptr ? std::nullopt : element_of(quotient->rhs);
      if (!above || !below || quotient->op != scalar::BinaryOp::Div || !all.contains(*above) ||
          !all.contains(*below))
        return false;
      uses += 2;
    }
    // Nothing but these stores reads them: no index, bound or definition.
    visit_loads(kernel_.body,
                [&](const scalar::Load& load) { reads += all.contains(load.tensor) ? 1 : 0; });
    return reads == uses;
  }

  const Kernel& kernel_;
  Buffers own_; ///< f32, and gone when the kernel ends
  std::vector<const Store*> stores_;
};

} // namespace

Kernel scaled_exp(Kernel kernel) {
  if (kernel.numerics == program::Numerics::Exact)
    return kernel;
  const auto [larger, scale] = Family(kernel).exponentials();
  if (larger.empty())
    return kernel;
  visit(kernel.body, [&larger = larger, scale = scale](Store& store) {
    if (larger.contains(store.buffer) && scalar::is_exp_below_zero(store.value))
      store.value = store.value * scalar::float_lit(scale, store.value.type());
  });
  return kernel;
}

} // namespace kawara::kernel
