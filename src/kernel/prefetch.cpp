#include "kernel/prefetch.h"

#include "kernel/prefetch_copied.h"
#include "kernel/prefetch_panel.h"
#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <algorithm>
#include <map>

namespace kawara::kernel {
namespace {

constexpr int64_t kLine = 64;
/// More at once than a core can have under way.
constexpr size_t kMost = 32;

/// The cells of one buffer that a loop's body touches, with variables of the body replaced by what they
/// are in the first iteration of their loops.
class TouchedLines {
public:
  TouchedLines(const Kernel& kernel, uint32_t buffer) : kernel_(kernel), buffer_(buffer) {}

  void walk(const Block& block) {
    for (const Stmt& stmt : block) {
      visit_own_exprs(stmt, [&](const Expr& root) {
        scalar::visit(root, [&](const Expr& e) {
          const auto* load = scalar::as<scalar::Load>(e);
          if (load != nullptr && load->tensor == buffer_)
            cell(load->index);
        });
      });
      if (const auto* store = std::get_if<Store>(&stmt);
          store != nullptr && store->buffer == buffer_)
        cell(store->index);
      else if (const auto* define = std::get_if<Define>(&stmt))
        known_[define->var] = resolved(define->value);
      else if (const auto* loop = std::get_if<For>(&stmt)) {
        known_[loop->var] = resolved(loop->lo);
        walk(loop->body);
      } else if (const auto* branch = std::get_if<If>(&stmt))
        walk(branch->then.empty() ? branch->otherwise : branch->then);
      else if (const auto* allocate = std::get_if<Allocate>(&stmt))
        walk(allocate->body);
    }
  }

  /// One index per cache line, in order of first appearance.
  std::vector<std::vector<Expr>> lines() const {
    std::vector<std::vector<Expr>> chosen;
    std::map<std::string, std::vector<int64_t>>
        taken; // offsets of the last index, by what precedes them
    const scalar::Names names = names_of(kernel_);
    const int64_t reach =
        std::max<int64_t>(1, kLine / scalar::bytes_of(kernel_.buffers[buffer_].elem));
    for (const std::vector<Expr>& index : cells_) {
      scalar::AffineSum last = scalar::affine_sum(index.back());
      const int64_t offset = std::exchange(last.constant, 0);
      std::string key = scalar::to_string(scalar::expr_of(last), names);
      for (size_t d = 0; d + 1 < index.size(); ++d)
        key += "," + scalar::to_string(index[d], names);
      std::vector<int64_t>& others = taken[key];
      if (chosen.size() < kMost && std::none_of(others.begin(), others.end(), [&](int64_t other) {
            return std::abs(other - offset) < reach;
          })) {
        others.push_back(offset);
        chosen.push_back(index);
      }
    }
    return chosen;
  }

private:
  Expr resolved(const Expr& e) const {
    return scalar::rewrite(e, [&](const Expr& part) -> Expr {
      const auto* v = scalar::as<scalar::Var>(part);
      const auto known = v == nullptr ? known_.end() : known_.find(v->id);
      return known == known_.end() ? Expr() : known->second;
    });
  }

  void cell(const std::vector<Expr>& index) {
    std::vector<Expr> at;
    for (const Expr& e : index) {
      const auto* ramp = scalar::as<scalar::Ramp>(e);
      at.push_back(scalar::simplify(resolved(ramp != nullptr ? ramp->base : e)));
      if (at.back().type() != scalar::kIndex || has_load(at.back()))
        return;
    }
    if (!at.empty())
      cells_.push_back(std::move(at));
  }

  const Kernel& kernel_;
  uint32_t buffer_;
  std::map<uint32_t, Expr> known_;
  std::vector<std::vector<Expr>> cells_;
};

Block prefetches(const Kernel& kernel, For& loop) {
  Block made;
  const VarSet inside = vars_set_in(loop.body);
  for (const poly::Prefetched& mark : loop.marks.prefetches) {
    if (prefetch_panel(kernel, loop, mark) || prefetch_copied(kernel, loop, mark))
      continue;
    TouchedLines touched(kernel, mark.tensor);
    touched.walk(loop.body);
    const Expr later = var_expr(kernel, loop.var) + scalar::int_lit(mark.ahead * loop.step);
    for (std::vector<Expr>& index : touched.lines()) {
      bool is_known = true;
      for (Expr& e : index) {
        is_known = is_known && !mentions_any(e, inside);
        e = substitute_var(e, loop.var, later);
      }
      if (is_known)
        made.emplace_back(Prefetch{mark.tensor, std::move(index)});
    }
  }
  return made;
}

} // namespace

Kernel prefetch(Kernel kernel) {
  kernel.body = rewrite(kernel.body, [&](Stmt stmt) {
    auto* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && !loop->marks.prefetches.empty()) {
      Block made = prefetches(kernel, *loop);
      made.insert(made.end(), std::make_move_iterator(loop->body.begin()),
                  std::make_move_iterator(loop->body.end()));
      loop->body = std::move(made);
      loop->marks.prefetches.clear();
    }
    return block_of(std::move(stmt));
  });
  return kernel;
}

} // namespace kawara::kernel
