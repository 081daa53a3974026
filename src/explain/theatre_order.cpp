#include "explain/theatre.h"

#include "kernel/from_schedule/from_schedule.h"

#include <algorithm>

namespace kawara::explain {
namespace {

using cache::Linear;

std::string mark_of(const poly::Marks& marks) {
  if (marks.axis != poly::Axis::None)
    return std::string(poly::name_of(marks.axis));
  if (marks.is_parallel)
    return "parallel";
  return marks.vector_width > 0 ? "vector " + std::to_string(marks.vector_width) : "";
}

class OrderReader : private cache::LinearMaker {
public:
  OrderReader(const kernel::Kernel& kernel, std::span<const int64_t> sizes,
              cache::AccessProgram& formulas)
      : LinearMaker(formulas), kernel_(kernel), sizes_(sizes) {}

  /// Whether all of it is loops, conditions and statements.
  bool read(const kernel::Block& block, TheatreCode& made) {
    for (const kernel::Stmt& stmt : block)
      std::visit([&](const auto& each) { one(each, made); }, stmt);
    return is_known_;
  }

private:
  Linear leaf(const scalar::Expr& e) override {
    if (const auto* param = scalar::as<scalar::Param>(e))
      return {sizes_[param->index], {}, {}};
    if (const auto* var = scalar::as<scalar::Var>(e))
      return {0, {{var->id, 1}}, {}};
    is_known_ = false;
    return {};
  }
  Linear known(const scalar::Expr& e) {
    auto sum = linear(e);
    is_known_ = is_known_ && sum.has_value();
    return std::move(sum).value_or(Linear{});
  }

  void one(const kernel::For& loop, TheatreCode& made) {
    TheatreLoop copy{loop.var,
                     kernel_.variables[loop.var].name,
                     mark_of(loop.marks),
                     known(loop.lo),
                     known(loop.hi),
                     loop.step,
                     {}};
    read(loop.body, copy.body);
    made.push_back({std::move(copy)});
  }
  void one(const kernel::If& branch, TheatreCode& made) {
    TheatreBranch copy{known(branch.cond), {}, {}};
    read(branch.then, copy.then);
    read(branch.otherwise, copy.otherwise);
    made.push_back({std::move(copy)});
  }
  void one(const kernel::Store& store, TheatreCode& made) {
    if (store.origins.size() != 1 || !store.origins.front().points.empty()) {
      is_known_ = false;
      return;
    }
    TheatreRun run{store.origins.front().statement, {}};
    for (const scalar::Expr& e : store.origins.front().iters)
      run.at.push_back(known(e));
    made.push_back({std::move(run)});
  }
  void one(const kernel::Zero&, TheatreCode&) {}
  void one(const kernel::Comment&, TheatreCode&) {}
  template <class Other> void one(const Other&, TheatreCode&) { is_known_ = false; }

  const kernel::Kernel& kernel_;
  std::span<const int64_t> sizes_;
  bool is_known_ = true;
};

/// Statements' sums with iterations in place of iterators.
class Substitution {
public:
  Substitution(const Theatre& theatre, cache::AccessProgram& made)
      : theatre_(theatre), made_(made) {}

  void add(const TheatreCode& from, cache::Code& to) {
    for (const TheatreStep& step : from)
      std::visit([&](const auto& each) { one(each, to); }, step.step);
  }

private:
  void one(const TheatreLoop& loop, cache::Code& to) {
    cache::Loop made{
        loop.variable, static_cast<uint32_t>(made_.loops.size()), loop.lo, loop.hi, loop.step, {}};
    made_.loops.push_back({loop.name, inside_});
    const auto outside = std::exchange(inside_, made.number);
    add(loop.body, made.body);
    inside_ = outside;
    to.push_back({std::move(made)});
  }
  void one(const TheatreBranch& branch, cache::Code& to) {
    cache::Branch made{branch.condition, {}, {}};
    add(branch.then, made.then);
    add(branch.otherwise, made.otherwise);
    to.push_back({std::move(made)});
  }
  void one(const TheatreRun& run, cache::Code& to) {
    for (const cache::Touch& touch : theatre_.statements[run.statement].touches) {
      cache::Touch made = touch;
      made.at = with(touch.at, run.at);
      if (touch.guard)
        made.guard = with(*touch.guard, run.at);
      to.push_back({std::move(made)});
    }
  }
  Linear with(const Linear& sum, const std::vector<Linear>& at) {
    Linear made{sum.constant, {}, {}};
    for (const auto& [iterator, factor] : sum.variables)
      cache::add(made, at[iterator], factor);
    for (const auto& [number, factor] : sum.formulas) {
      const cache::Formula& f = theatre_.accesses.formulas[number];
      cache::Formula own{f.op, with(f.a, at), with(f.b, at), with(f.c, at)};
      made_.formulas.push_back(std::move(own));
      made.formulas.emplace_back(static_cast<uint32_t>(made_.formulas.size() - 1), factor);
    }
    return made;
  }

  const Theatre& theatre_;
  cache::AccessProgram& made_;
  std::optional<uint32_t> inside_;
};

} // namespace

std::optional<TheatreOrder> theatre_order(const schedule::Schedule& schedule,
                                          std::span<const int64_t> sizes) {
  // Bound loops keep their axes in loops for a GPU.
  const bool is_bound =
      std::any_of(schedule.order.loops.begin(), schedule.order.loops.end(),
                  [](const auto& loop) { return loop.marks.axis != poly::Axis::None; });
  const kernel::Kernel kernel = kernel::kernel_from_schedule(schedule, is_bound);
  cache::AccessProgram scratch;
  TheatreOrder order;
  order.variables = static_cast<uint32_t>(kernel.variables.size());
  if (!OrderReader(kernel, sizes, scratch).read(kernel.body, order.code))
    return std::nullopt;
  order.formulas = std::move(scratch.formulas);
  return order;
}

cache::AccessProgram accesses_in_order(const Theatre& theatre, const TheatreOrder& order) {
  cache::AccessProgram made;
  made.arrays = theatre.accesses.arrays;
  made.references = theatre.accesses.references;
  made.variables = order.variables;
  made.formulas = order.formulas;
  Substitution(theatre, made).add(order.code, made.code);
  return made;
}

} // namespace kawara::explain
