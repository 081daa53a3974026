#include "kernel/vector/check_together.h"

#include "kernel/analysis/ranges.h"
#include "kernel/loops/unroll.h"
#include "kernel/vars.h"
#include "kernel/vector/vector_expr.h"
#include "kernel/walk.h"
#include "scalar/loads.h"

#include <algorithm>

namespace kawara::kernel {
namespace {

using scalar::as;

constexpr uint16_t kTogether = 8;
/// Copies of longer bodies cost more than they save.
constexpr size_t kLongestBody = 4;

/// Checks that an expression makes whenever it is evaluated: not those of a choice.
void for_sure_checks(const Expr& e, const std::function<void(const Expr&)>& f) {
  if (as<scalar::Within>(e) != nullptr)
    f(e);
  const bool is_choice = as<scalar::Select>(e) != nullptr;
  for (const Expr& kid : scalar::children(e)) {
    for_sure_checks(kid, f);
    if (is_choice)
      return; // the condition comes first
  }
}

class Checks {
public:
  explicit Checks(const For& loop)
      : var_(loop.var), lanes_(loop.var, loop.step, kTogether),
        stored_(buffers_stored_in(loop.body)), set_inside_(vars_set_in(loop.body)) {
    set_inside_.insert(loop.var);
    visit_exprs(loop.body, [&](const Expr& root) {
      for_sure_checks(root, [&](const Expr& check) {
        if (!has(check) && lies_side_by_side(*as<scalar::Within>(check)))
          found_.push_back(check);
      });
    });
  }

  const std::vector<Expr>& found() const { return found_; }
  bool has(const Expr& check) const {
    return std::any_of(found_.begin(), found_.end(),
                       [&](const Expr& known) { return scalar::equal(known, check); });
  }
  Expr together(const Expr& check) const { return lanes_.widened(check); }

private:
  /// A load of neighbours, or what such a load holds as an index.
  bool lies_side_by_side(const scalar::Within& check) const {
    const auto* cast = as<scalar::Cast>(check.index);
    const Expr& read = cast != nullptr ? cast->arg : check.index;
    const auto* load = as<scalar::Load>(read);
    if (load == nullptr || stored_.contains(load->tensor) || load->index.empty() ||
        mentions_any(check.extent, set_inside_))
      return false;
    const bool is_plain = std::all_of(load->index.begin(), load->index.end(), [&](const Expr& e) {
      VarSet others = set_inside_;
      others.erase(var_);
      return !has_load(e) && !mentions_any(e, others);
    });
    const Expr at = is_plain ? lanes_(load->index.back()) : Expr();
    const auto* ramp = at ? as<scalar::Ramp>(at) : nullptr;
    return ramp != nullptr && ramp->stride == 1 &&
           std::none_of(load->index.begin(), load->index.end() - 1,
                        [&](const Expr& e) { return lanes_.varies(e); });
  }

  uint32_t var_;
  VectorExpr lanes_;
  std::set<uint32_t> stored_;
  VarSet set_inside_;
  std::vector<Expr> found_;
};

bool is_short(const Block& body) {
  return body.size() <= kLongestBody && std::all_of(body.begin(), body.end(), [](const Stmt& stmt) {
           return std::holds_alternative<Store>(stmt) || std::holds_alternative<Define>(stmt) ||
                  std::holds_alternative<Assign>(stmt);
         });
}

bool runs_in_order(const For& loop) {
  return loop.step == 1 && !loop.marks.is_parallel && loop.marks.vector_width == 0 &&
         loop.marks.unroll == 0 && loop.marks.instruction.empty() && !loop.joins_child;
}

Block checked_together(Kernel& kernel, For loop) {
  const auto trips = trip_count(loop);
  if (!runs_in_order(loop) || !is_short(loop.body) || (trips && *trips < kTogether))
    return block_of(std::move(loop));
  const Checks checks(loop);
  if (checks.found().empty())
    return block_of(std::move(loop));
  For without = loop;
  without.body = map_exprs(loop.body, [&](const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) {
      const auto* check = as<scalar::Within>(e);
      return check != nullptr && checks.has(e) ? check->index : Expr();
    });
  });
  Block head;
  for (const Expr& check : checks.found()) {
    const Expr all = checks.together(check);
    const auto loads = scalar::loads_in(all);
    const std::string name = kernel.buffers[loads.front()->tensor].name + "_inside";
    head.emplace_back(Define{add_variable(kernel, name, all.type()), all});
  }
  return unroll_by(kernel, std::move(loop), kTogether, [&](const Expr& at) {
    Block body = head;
    append(body, copies_of_body(kernel, without, at, kTogether));
    return body;
  });
}

} // namespace

Kernel check_together(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = rewrite(body, [&](For loop) { return checked_together(kernel, std::move(loop)); });
  return kernel;
}

} // namespace kawara::kernel
