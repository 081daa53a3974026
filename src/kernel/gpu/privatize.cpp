#include "kernel/gpu/privatize.h"

#include "kernel/vars.h"
#include "kernel/walk.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

using scalar::as;

/// The statements of a phase and the conditions around all of them.
struct GuardedPhase {
  std::vector<Expr> conditions;
  Block body;
};

GuardedPhase guarded_phase(const Phase& phase) {
  GuardedPhase result{{}, phase.body};
  while (result.body.size() == 1) {
    const auto* branch = std::get_if<If>(&result.body[0]);
    if (branch == nullptr || !branch->otherwise.empty())
      break;
    result.conditions.push_back(branch->cond);
    Block inside = branch->then;
    result.body = std::move(inside);
  }
  return result;
}

PhaseNode phase_of(Block body, const std::vector<Expr>& conditions) {
  for (size_t c = conditions.size(); c-- > 0;)
    body = block_of(If{conditions[c], std::move(body), {}});
  return {Phase{std::move(body)}};
}

class Privatize {
public:
  Privatize(Kernel& kernel, const Launch& launch, const PhaseNodes& nodes)
      : kernel_(kernel), first_(launch.thread_vars[0]) {
    places_ = {launch.block_vars.begin(), launch.block_vars.end()};
    places_.insert({launch.thread_vars[1], launch.thread_vars[2]});
    agreed_ = places_;
    for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
      if (kernel.buffers[b].scope == Scope::Shared)
        copied_.insert(b);
    survey(nodes);
    for (size_t before = copied_.size() + 1; copied_.size() < before;) {
      before = copied_.size();
      check(nodes);
    }
  }

  PhaseNodes rewritten(const PhaseNodes& nodes) {
    if (copied_.empty())
      return nodes;
    PhaseNodes result;
    for (const PhaseNode& node : nodes) {
      if (const auto* phase = std::get_if<Phase>(&node.what)) {
        for (PhaseNode& piece : split(*phase))
          result.push_back(std::move(piece));
        continue;
      }
      PhaseControl control = std::get<PhaseControl>(node.what);
      control.shell = renamed(block_of(control.shell)).front();
      control.then = rewritten(control.then);
      control.otherwise = rewritten(control.otherwise);
      result.push_back({std::move(control)});
    }
    return result;
  }

private:
  /// Variables that threads of a row agree on, and buffers that the launch writes.
  void survey(const PhaseNodes& nodes) {
    for (const PhaseNode& node : nodes) {
      if (const auto* phase = std::get_if<Phase>(&node.what)) {
        const std::set<uint32_t> stored = buffers_stored_in(phase->body);
        stored_.insert(stored.begin(), stored.end());
        for (const Stmt& stmt : phase->body)
          if (const auto* combine = std::get_if<Combine>(&stmt))
            agreed_.insert(combine->var);
        continue;
      }
      const auto& control = std::get<PhaseControl>(node.what);
      if (const auto* loop = std::get_if<For>(&control.shell))
        agreed_.insert(loop->var);
      survey(control.then);
      survey(control.otherwise);
    }
  }

  bool is_for_the_first(const Expr& condition) const {
    const auto* n = as<scalar::Binary>(condition);
    const auto* v = n != nullptr ? as<scalar::Var>(n->lhs) : nullptr;
    return v != nullptr && n->op == scalar::BinaryOp::Eq && v->id == first_ &&
           scalar::constant_of(n->rhs) == 0;
  }

  bool has_only(const Expr& root, const VarSet& vars) const {
    bool is_fine = true;
    scalar::visit(root, [&](const Expr& e) {
      if (const auto* v = as<scalar::Var>(e))
        is_fine = is_fine && vars.contains(v->id);
    });
    return is_fine;
  }

  bool is_agreed(const Expr& root) const {
    bool is_fine = has_only(root, agreed_);
    scalar::visit(root, [&](const Expr& e) {
      if (const auto* load = as<scalar::Load>(e))
        is_fine = is_fine && (copied_.contains(load->tensor) || !stored_.contains(load->tensor));
    });
    return is_fine;
  }

  bool is_place(const std::vector<Expr>& index) const {
    return std::all_of(index.begin(), index.end(),
                       [&](const Expr& e) { return has_only(e, places_) && !has_load(e); });
  }

  /// Whether the statement stores an agreed value to an element that may have copies.
  bool is_copy(const Stmt& stmt) const {
    const auto* store = std::get_if<Store>(&stmt);
    return store != nullptr && copied_.contains(store->buffer) && !store->is_async &&
           store->value.type().lanes == 1 && is_place(store->index) && is_agreed(store->value);
  }

  bool may_be_split(const GuardedPhase& phase) const {
    return std::any_of(phase.conditions.begin(), phase.conditions.end(),
                       [&](const Expr& e) { return is_for_the_first(e); }) &&
           std::all_of(
               phase.conditions.begin(), phase.conditions.end(),
               [&](const Expr& e) { return is_for_the_first(e) || has_only(e, agreed_); }) &&
           std::none_of(phase.body.begin(), phase.body.end(), [](const Stmt& stmt) {
             return std::holds_alternative<Define>(stmt) || std::holds_alternative<Assign>(stmt);
           });
  }

  void forget(const std::set<uint32_t>& buffers) {
    for (const uint32_t b : buffers)
      copied_.erase(b);
  }

  void check(const PhaseNodes& nodes) {
    for (const PhaseNode& node : nodes) {
      if (const auto* phase = std::get_if<Phase>(&node.what)) {
        check_loads(phase->body);
        const GuardedPhase inside = guarded_phase(*phase);
        const bool is_split = may_be_split(inside);
        for (const Stmt& stmt : inside.body)
          if (!is_split || !is_copy(stmt))
            forget(buffers_stored_in(stmt));
        continue;
      }
      const auto& control = std::get<PhaseControl>(node.what);
      check_loads(block_of(control.shell));
      check(control.then);
      check(control.otherwise);
    }
  }

  void check_loads(const Block& block) {
    visit_loads(block, [&](const scalar::Load& load) {
      if (!is_place(load.index))
        copied_.erase(load.tensor);
    });
  }

  PhaseNodes split(const Phase& phase) {
    const GuardedPhase inside = guarded_phase(phase);
    if (!may_be_split(inside))
      return {{Phase{renamed(phase.body)}}};
    std::vector<Expr> shared = inside.conditions;
    shared.erase(std::remove_if(shared.begin(), shared.end(),
                                [&](const Expr& e) { return is_for_the_first(e); }),
                 shared.end());
    PhaseNodes result;
    for (size_t k = 0; k < inside.body.size();) {
      const bool is_own = is_copy(inside.body[k]);
      Block piece;
      for (; k < inside.body.size() && is_copy(inside.body[k]) == is_own; ++k)
        piece.push_back(inside.body[k]);
      result.push_back(is_own ? phase_of(on_each_thread(renamed(piece)), shared)
                              : phase_of(renamed(piece), inside.conditions));
    }
    return result;
  }

  static Block on_each_thread(Block block) {
    visit(block, [](Store& store) { store.origins = per_thread(std::move(store.origins)); });
    return block;
  }

  Block renamed(const Block& block) {
    const auto rename = [&](uint32_t& buffer) {
      if (!copied_.contains(buffer))
        return false;
      buffer = copy_of(buffer);
      return true;
    };
    Block result =
        map_accesses(block, [&](uint32_t& buffer, std::vector<Expr>&) { return rename(buffer); });
    visit(result, [&](Allocate& allocate) { rename(allocate.buffer); });
    return result;
  }

  /// Another launch may have the buffer as it is.
  uint32_t copy_of(uint32_t buffer) {
    const auto [at, is_new] =
        copies_.emplace(buffer, static_cast<uint32_t>(kernel_.buffers.size()));
    if (is_new) {
      Buffer copy = kernel_.buffers[buffer];
      copy.name += "_copy" + std::to_string(at->second);
      copy.scope = Scope::Private;
      kernel_.buffers.push_back(std::move(copy));
    }
    return at->second;
  }

  Kernel& kernel_;
  uint32_t first_;
  VarSet places_, agreed_; ///< `places_`: which block and row of threads it is
  std::set<uint32_t> stored_, copied_;
  std::map<uint32_t, uint32_t> copies_;
};

} // namespace

PhaseNodes privatized(Kernel& kernel, const Launch& launch, PhaseNodes nodes) {
  return launch.threads[0] == 1 ? nodes : Privatize(kernel, launch, nodes).rewritten(nodes);
}

} // namespace kawara::kernel
