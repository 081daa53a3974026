#include "kernel/gpu/thread_phases.h"

#include "kernel/analysis/ranges.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <optional>

namespace kawara::kernel {
namespace {

using poly::Axis;
using scalar::binary;
using scalar::BinaryOp;
using scalar::int_lit;

constexpr scalar::Type kFlag = scalar::kIndex;

template <OneOf<Block, Stmt> B> bool has_thread_loop(const B& root) {
  return has(root, [](const For& loop) { return poly::is_thread(loop.marks.axis); });
}

/// The loops of the block, bound to nothing.
Block unbound(Block block) {
  visit(block, [](For& loop) { loop.marks.axis = Axis::None; });
  return block;
}

/// Positions that are named before loops bound to threads (a bound loop that two others became
/// names both), written out: what is inside may be a phase of its own, which sees no names.
Block without_names(Block block) {
  for (size_t n = 0; n < block.size(); ++n) {
    for_blocks(block[n], [](Block& inside) { inside = without_names(std::move(inside)); });
    const auto* define = std::get_if<Define>(&block[n]);
    Block rest(block.begin() + static_cast<std::ptrdiff_t>(n) + 1, block.end());
    if (define == nullptr || has_load(define->value) || !has_thread_loop(rest))
      continue;
    rest = substitute_var(rest, define->var, define->value);
    block.resize(n);
    append(block, without_names(std::move(rest)));
    return block;
  }
  return block;
}

/// An element that all threads of a loop update, and the variable in which each keeps its part.
struct Partial {
  Store update; ///< index and operation
  uint32_t var = 0;
  /// Of an element that another block may have: whether this thread has updated its part at all.
  std::optional<uint32_t> has_part = std::nullopt;
};

bool is_same_element(const Store& a, const Store& b) {
  return a.buffer == b.buffer && a.op == b.op &&
         std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(), scalar::equal);
}

class Threads {
public:
  Threads(Kernel& kernel, const Launch& launch) : kernel_(kernel), launch_(launch) {
    thread_vars_ = {launch.thread_vars.begin(), launch.thread_vars.end()};
  }

  /// Which threads take part: those for which the conditions hold, and on the axes that no loop
  /// around is bound to the first.
  struct Place {
    std::vector<Expr> conditions;
    std::array<bool, 3> is_bound = {};
  };

  PhaseNodes block(const Block& statements, const Place& place) {
    PhaseNodes nodes;
    Block plain;
    const auto flush = [&] {
      if (!plain.empty())
        nodes.push_back({phase(std::exchange(plain, {}), place)});
    };
    for (const Stmt& stmt : statements) {
      if (!has_thread_loop(stmt)) {
        plain.push_back(stmt);
        continue;
      }
      flush();
      for (PhaseNode& node : one(stmt, place))
        nodes.push_back(std::move(node));
    }
    flush();
    return nodes;
  }

private:
  Phase phase(Block body, const Place& place) const {
    std::vector<Expr> all = place.conditions;
    for (size_t a = 0; a < 3; ++a)
      if (!place.is_bound[a] && launch_.threads[a] > 1)
        all.push_back(binary(BinaryOp::Eq, scalar::var(launch_.thread_vars[a]), int_lit(0)));
    for (size_t c = all.size(); c-- > 0;)
      body = block_of(If{all[c], std::move(body), {}});
    return {std::move(body)};
  }

  PhaseNodes one(const Stmt& stmt, const Place& place) {
    if (const auto* loop = std::get_if<For>(&stmt))
      return poly::is_thread(loop->marks.axis) ? threads(*loop, place) : serial(*loop, place);
    if (const auto* branch = std::get_if<If>(&stmt))
      return choice(*branch, place);
    PhaseControl control{stmt, {}, {}};
    auto& allocate = std::get<Allocate>(control.shell);
    control.then = block(std::exchange(allocate.body, {}), place);
    return {{std::move(control)}};
  }

  PhaseNodes on_one_thread(const Stmt& stmt, const Place& place) const {
    return {{phase(unbound(block_of(stmt)), place)}};
  }

  PhaseNodes serial(const For& loop, const Place& place) {
    if (mentions_any(loop.lo, thread_vars_) || mentions_any(loop.hi, thread_vars_) ||
        has_load(loop.lo) || has_load(loop.hi))
      return on_one_thread(loop, place);
    PhaseControl control{loop, block(loop.body, place), {}};
    std::get<For>(control.shell).body.clear();
    return {{std::move(control)}};
  }

  PhaseNodes choice(const If& branch, const Place& place) {
    if (has_load(branch.cond))
      return on_one_thread(branch, place);
    if (!mentions_any(branch.cond, thread_vars_)) {
      PhaseControl control{If{branch.cond, {}, {}}, block(branch.then, place),
                           block(branch.otherwise, place)};
      return {{std::move(control)}};
    }
    Place then = place, otherwise = place;
    then.conditions.push_back(branch.cond);
    otherwise.conditions.push_back(
        scalar::simplify(scalar::unary(scalar::UnaryOp::Not, branch.cond)));
    PhaseNodes nodes = block(branch.then, then);
    for (PhaseNode& node : block(branch.otherwise, otherwise))
      nodes.push_back(std::move(node));
    return nodes;
  }

  PhaseNodes threads(const For& loop, Place place) {
    const size_t axis = poly::position_of(loop.marks.axis);
    const auto partials = partials_of(loop);
    if (place.is_bound[axis] || !partials || has_load(loop.lo) || has_load(loop.hi))
      return on_one_thread(loop, place);
    PhaseNodes nodes;
    for (const Partial& partial : *partials) {
      nodes.push_back({Phase{block_of(
          Define{partial.var,
                 scalar::identity_of(partial.update.op, kernel_.variables[partial.var].type)})}});
      if (partial.has_part)
        nodes.push_back({Phase{block_of(Define{*partial.has_part, scalar::zero_of(kFlag)})}});
    }
    const Place outer = place;
    place.is_bound[axis] = true;
    const Expr thread = scalar::var(launch_.thread_vars[axis]);
    const Expr value = scalar::simplify(loop.lo + thread * int_lit(loop.step));
    for (Expr& cond : conditions_of(loop, value, launch_.threads[axis]))
      place.conditions.push_back(std::move(cond));
    const Block body = substitute_var(with_partials(loop.body, *partials), loop.var, value);
    for (PhaseNode& node : block(body, place))
      nodes.push_back(std::move(node));
    for (const Partial& partial : *partials)
      add_combination(partial, outer, nodes);
    return nodes;
  }

  /// What must hold for the loop to have an iteration for every thread.
  static std::vector<Expr> conditions_of(const For& loop, const Expr& value, int64_t threads) {
    std::vector<Expr> conditions;
    for (const Expr& hi : operands_of(loop.hi, BinaryOp::Min)) {
      const auto distance = scalar::constant_of(scalar::simplify(hi - loop.lo));
      if (!distance || (threads - 1) * loop.step >= *distance)
        conditions.push_back(scalar::simplify(binary(BinaryOp::Lt, value, hi)));
    }
    return conditions;
  }

  /// The elements that all iterations update; nothing when they cannot be kept in variables.
  std::optional<std::vector<Partial>> partials_of(const For& loop) {
    std::vector<Partial> partials;
    VarSet inside = vars_set_in(loop.body);
    inside.insert(loop.var);
    std::set<uint32_t> allocated;
    bool is_fine = true;
    visit(loop.body, [&](const Stmt& stmt) {
      if (const auto* allocate = std::get_if<Allocate>(&stmt))
        allocated.insert(allocate->buffer);
      const auto* store = std::get_if<Store>(&stmt);
      if (store == nullptr || store->op == ReduceOp::None || allocated.contains(store->buffer))
        return;
      const auto mentions_it = [&](const VarSet& vars) {
        return std::any_of(store->index.begin(), store->index.end(),
                           [&](const Expr& e) { return mentions_any(e, vars); });
      };
      if (mentions_it({loop.var}))
        return;
      is_fine = is_fine && !mentions_it(inside) && loop.marks.axis == Axis::ThreadX;
      const auto is_known = [&](const Partial& p) { return is_same_element(p.update, *store); };
      if (is_fine && std::none_of(partials.begin(), partials.end(), is_known))
        partials.push_back({*store, 0});
    });
    if (!is_fine)
      return std::nullopt;
    for (Partial& partial : partials) {
      const Buffer& buffer = kernel_.buffers[partial.update.buffer];
      partial.var =
          add_variable(kernel_, buffer.name + "_part", {scalar::compute_type(buffer.elem), 1});
      if (may_be_of_another_block(loop, partial.update))
        partial.has_part = add_variable(kernel_, buffer.name + "_has_part", kFlag);
    }
    return partials;
  }

  /// Whether some block may have no iteration that updates the element, and so must not touch it:
  /// another block may have it. Two blocks that both have iterations have elements of their own, or
  /// the schedule would not be legal.
  bool may_be_of_another_block(const For& loop, const Store& update) const {
    const Scope scope = kernel_.buffers[update.buffer].scope;
    if (scope != Scope::Argument && scope != Scope::Workspace)
      return false;
    VarSet blocks;
    for (size_t a = 0; a < 3; ++a)
      if (scalar::constant_of(launch_.blocks[a]) != 1)
        blocks.insert(launch_.block_vars[a]);
    const auto depends_on_block = [&](const OneOf<For, If> auto& stmt) {
      bool depends = false;
      visit_own_exprs(stmt, [&](const Expr& e) { depends = depends || mentions_any(e, blocks); });
      return depends;
    };
    const bool depends = depends_on_block(loop) || has(loop.body, depends_on_block);
    const auto is_of_block = [&](uint32_t block) {
      return std::any_of(update.index.begin(), update.index.end(), [&](const Expr& e) {
        const scalar::AffineSum sum = scalar::affine_sum(e);
        return sum.terms.size() == 1 && scalar::as<scalar::Var>(sum.terms[0].first) != nullptr &&
               mentions(sum.terms[0].first, block);
      });
    };
    return depends && !std::all_of(blocks.begin(), blocks.end(), is_of_block);
  }

  Block with_partials(const Block& body, const std::vector<Partial>& partials) const {
    return rewrite(body, [&](const Store& store) {
      if (store.op != ReduceOp::None)
        for (const Partial& partial : partials)
          if (is_same_element(partial.update, store)) {
            const Expr old = var_expr(kernel_, partial.var);
            const Expr value = scalar::cast(store.value, old.type());
            Block updated =
                block_of(Assign{partial.var, scalar::combine(store.op, old, value), store.origins});
            if (partial.has_part)
              updated.emplace_back(Assign{*partial.has_part, int_lit(1, kFlag)});
            return updated;
          }
      return block_of(store);
    });
  }

  void add_combination(const Partial& partial, const Place& place, PhaseNodes& nodes) {
    const std::string& name = kernel_.buffers[partial.update.buffer].name;
    const uint32_t total =
        add_variable(kernel_, name + "_total", kernel_.variables[partial.var].type);
    nodes.push_back(
        {Phase{block_of(Combine{total, partial.update.op, var_expr(kernel_, partial.var)})}});
    Store store = partial.update;
    store.value = var_expr(kernel_, total);
    store.origins.clear();
    if (!partial.has_part) {
      nodes.push_back({phase(block_of(std::move(store)), place)});
      return;
    }
    const uint32_t any = add_variable(kernel_, name + "_has_any", kFlag);
    nodes.push_back(
        {Phase{block_of(Combine{any, ReduceOp::Max, var_expr(kernel_, *partial.has_part)})}});
    Place with_any = place;
    with_any.conditions.push_back(
        binary(BinaryOp::Gt, var_expr(kernel_, any), scalar::zero_of(kFlag)));
    nodes.push_back({phase(block_of(std::move(store)), with_any)});
  }

  Kernel& kernel_;
  const Launch& launch_;
  VarSet thread_vars_;
};

} // namespace

PhaseNodes thread_phases(Kernel& kernel, const Launch& launch, const Block& body) {
  return Threads(kernel, launch).block(without_names(body), {});
}

} // namespace kawara::kernel
