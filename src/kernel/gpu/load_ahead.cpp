#include "kernel/gpu/load_ahead.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;
using scalar::int_lit;

constexpr size_t kLeastParts = 4;
constexpr size_t kMostElementsAhead = 32;

/// Loads of shared memory, each with a variable of its own.
class Fragment {
public:
  explicit Fragment(Kernel& kernel) : kernel_(kernel) {}

  void note(const Expr& root) {
    scalar::visit(root, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr || kernel_.buffers[load->tensor].scope != Scope::Shared ||
          find(e) != loads_.end())
        return;
      elements_ += e.type().lanes;
      loads_.emplace_back(e, 0);
    });
  }
  size_t elements() const { return elements_; }
  bool is_empty() const { return loads_.empty(); }

  void name_variables(const std::string& name) {
    for (auto& [load, var] : loads_)
      var = add_variable(kernel_, kernel_.buffers[as<scalar::Load>(load)->tensor].name + name,
                         load.type());
  }
  /// `let` for all, or assignments, with the ring's slot as `slot` of variable `stage`.
  Block set(bool is_new, uint32_t stage, const Expr& slot) const {
    Block out;
    for (const auto& [load, var] : loads_) {
      const Expr value = substitute_var(load, stage, slot);
      if (is_new)
        out.emplace_back(Define{var, value});
      else
        out.emplace_back(Assign{var, value});
    }
    return out;
  }
  Expr used_in(const Expr& root) const {
    return scalar::rewrite(root, [&](const Expr& e) {
      const auto found = find(e);
      return found == loads_.end() ? Expr() : scalar::var(found->second, e.type());
    });
  }

private:
  std::vector<std::pair<Expr, uint32_t>>::const_iterator find(const Expr& e) const {
    return std::find_if(loads_.begin(), loads_.end(),
                        [&](const auto& known) { return scalar::equal(known.first, e); });
  }

  Kernel& kernel_;
  std::vector<std::pair<Expr, uint32_t>> loads_;
  size_t elements_ = 0;
};

/// The parts of a loop over steps.
struct RingLoop {
  Block defines;      ///< the slot of this step and of the one that is brought
  Await await;        ///< for this step's copies
  Block copies;       ///< and their commit
  uint32_t stage = 0; ///< variable: the slot of this step
  std::vector<Assign> computed;
  size_t parts = 0; ///< into which `computed` falls
};

/// As often as the first variable is set, in the same order each time.
size_t parts_of(const std::vector<Assign>& computed) {
  if (computed.empty())
    return 0;
  const auto count =
      static_cast<size_t>(std::count_if(computed.begin(), computed.end(), [&](const Assign& a) {
        return a.var == computed.front().var;
      }));
  if (computed.size() % count != 0)
    return 0;
  const size_t each = computed.size() / count;
  for (size_t n = each; n < computed.size(); ++n)
    if (computed[n].var != computed[n - each].var)
      return 0;
  return count;
}

std::optional<RingLoop> ring_loop(const For& loop) {
  RingLoop ring;
  size_t at = 0;
  const auto& body = loop.body;
  while (at < body.size() && std::holds_alternative<Define>(body[at]))
    ring.defines.push_back(body[at++]);
  if (ring.defines.empty() || at + 3 >= body.size() || loop.step != 1 ||
      !std::holds_alternative<Await>(body[at]) || !std::holds_alternative<Barrier>(body[at + 1]) ||
      !std::holds_alternative<If>(body[at + 2]) || !std::holds_alternative<Commit>(body[at + 3]))
    return std::nullopt;
  ring.await = std::get<Await>(body[at]);
  ring.copies = {body[at + 2], body[at + 3]};
  ring.stage = std::get<Define>(ring.defines.front()).var;
  for (at += 4; at < body.size(); ++at) {
    const auto* assign = std::get_if<Assign>(&body[at]);
    if (assign == nullptr)
      return std::nullopt;
    ring.computed.push_back(*assign);
  }
  ring.parts = parts_of(ring.computed);
  return ring.parts >= kLeastParts ? std::optional(ring) : std::nullopt;
}

/// All loads of shared memory go through the slot of this step.
bool reads_stage_only(const Kernel& kernel, const RingLoop& ring) {
  bool is_fine = true;
  for (const Assign& assign : ring.computed)
    scalar::visit(assign.value, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load != nullptr && kernel.buffers[load->tensor].scope == Scope::Shared)
        is_fine = is_fine && mentions(e, ring.stage);
    });
  return is_fine;
}

Block ahead(Kernel& kernel, const For& loop) {
  const auto ring = ring_loop(loop);
  const auto lo = scalar::constant_of(loop.lo), hi = scalar::constant_of(loop.hi);
  if (!ring || !lo || !hi || *lo >= *hi || !reads_stage_only(kernel, *ring))
    return {};
  const size_t each = ring->computed.size() / ring->parts;
  Fragment first(kernel), last(kernel);
  for (size_t n = 0; n < each; ++n) {
    first.note(ring->computed[n].value);
    last.note(ring->computed[ring->computed.size() - each + n].value);
  }
  if (first.is_empty() || last.is_empty() || first.elements() > kMostElementsAhead ||
      last.elements() > kMostElementsAhead)
    return {};
  first.name_variables("_first");
  last.name_variables("_last");
  const Expr slot = std::get<Define>(ring->defines.front()).value;
  const auto slot_at = [&](const Expr& step) {
    return scalar::simplify(substitute_var(slot, loop.var, step));
  };
  Block out = {Stmt(ring->await), Stmt(Barrier{})};
  for (Stmt& stmt : first.set(true, ring->stage, slot_at(loop.lo)))
    out.push_back(std::move(stmt));
  For steps = loop;
  steps.body = ring->defines;
  const auto add = [&](const Block& more) {
    steps.body.insert(steps.body.end(), more.begin(), more.end());
  };
  add(ring->copies);
  for (size_t n = 0; n + each < ring->computed.size(); ++n) {
    Assign assign = ring->computed[n];
    if (n < each)
      assign.value = first.used_in(assign.value);
    steps.body.emplace_back(std::move(assign));
  }
  add(last.set(true, ring->stage, scalar::var(ring->stage)));
  steps.body.emplace_back(ring->await);
  steps.body.emplace_back(Barrier{});
  const Expr next = scalar::var(loop.var) + int_lit(1);
  // After the last step nobody uses them. Where all slots are full by then they are loaded even so:
  // a condition would keep the products on either side of it.
  const Block more = first.set(false, ring->stage, slot_at(next));
  if (*hi - *lo >= ring->await.pending + 2)
    add(more);
  else
    steps.body.emplace_back(If{scalar::binary(scalar::BinaryOp::Lt, next, loop.hi), more, {}});
  for (size_t n = ring->computed.size() - each; n < ring->computed.size(); ++n) {
    Assign assign = ring->computed[n];
    assign.value = last.used_in(assign.value);
    steps.body.emplace_back(std::move(assign));
  }
  out.emplace_back(std::move(steps));
  return out;
}

} // namespace

Kernel load_ahead(Kernel kernel, const Launch&) {
  const Block body = kernel.body;
  kernel.body = rewrite(body, [&](For loop) {
    Block changed = ahead(kernel, loop);
    return changed.empty() ? block_of(std::move(loop)) : changed;
  });
  return kernel;
}

} // namespace kawara::kernel
