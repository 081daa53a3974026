#include "kernel/index/addresses.h"

#include "kernel/vars.h"
#include "kernel/walk.h"
#include "scalar/affine_sum.h"

#include <optional>
#include <unordered_map>

namespace kawara::kernel {
namespace {

using scalar::AffineSum;
using scalar::as;
using scalar::BinaryOp;
using scalar::int_lit;

/// Depth of a variable that is assigned: no loop leaves it alone.
constexpr size_t kNeverFixed = SIZE_MAX;

/// Takes a multiplication, a division or more.
bool is_work(const std::pair<Expr, int64_t>& term) {
  const bool is_variable = as<scalar::Var>(term.first) != nullptr;
  return (term.second != 1 && term.second != -1) || !is_variable;
}

bool may_fail(const Expr& root) {
  bool may = false;
  scalar::visit(root, [&](const Expr& e) {
    may = may || as<scalar::Within>(e) != nullptr;
    const auto* n = as<scalar::Binary>(e);
    if (n != nullptr && (n->op == BinaryOp::FloorDiv || n->op == BinaryOp::Mod))
      may = may || scalar::constant_of(n->rhs).value_or(0) == 0;
  });
  return may;
}

/// Number of elements from one index of each dimension to the next.
std::vector<Expr> strides_of(const Buffer& buffer) {
  std::vector<Expr> strides(buffer.shape.size(), int_lit(1));
  for (size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = scalar::simplify(buffer.shape[d] * strides[d]);
  return strides;
}

/// Where an element (the first of several) lies in row-major order. Constant distances come last.
Expr position(const std::vector<Expr>& index, const std::vector<Expr>& strides) {
  Expr varying = int_lit(0), fixed = int_lit(0);
  for (size_t d = 0; d < index.size(); ++d) {
    const AffineSum sum = scalar::affine_sum(index[d]);
    for (const auto& [term, factor] : sum.terms)
      varying = varying + term * strides[d] * int_lit(factor);
    fixed = fixed + strides[d] * int_lit(sum.constant);
  }
  return varying + fixed;
}

class Rows {
public:
  explicit Rows(Kernel& kernel) : kernel_(kernel), strides_(kernel.buffers.size()) {
    visit(kernel.body, [&](const Assign& assign) { depths_[assign.var] = kNeverFixed; });
  }

  Block block(const Block& statements) {
    return with_each_replaced(statements, [&](Stmt stmt) {
      Block result;
      visit_own_exprs(stmt, [&](Expr& e) { e = with_rows(e); });
      if (auto* loop = std::get_if<For>(&stmt))
        result = enter(*loop);
      else
        for_blocks(stmt, [&](Block& inside) { inside = block(inside); });
      if (auto* store = std::get_if<Store>(&stmt)) {
        if (auto flat = flat_index(store->buffer, store->index))
          store->index = {*std::move(flat)};
      } else if (const auto* define = std::get_if<Define>(&stmt))
        set_depth(define->var, loops_.size());
      else if (const auto* combine = std::get_if<Combine>(&stmt))
        set_depth(combine->var, loops_.size());
      result.push_back(std::move(stmt));
      return result;
    });
  }

private:
  struct Row {
    uint32_t buffer;
    Expr value;
    uint32_t var;
  };
  /// A loop around the present place, and what is computed before it.
  struct Loop {
    std::vector<Row> rows;
  };

  /// Rewrites the body; the definitions to stand before the loop.
  Block enter(For& loop) {
    const size_t outer = first_usable_;
    loops_.emplace_back();
    set_depth(loop.var, loops_.size());
    if (loop.marks.is_parallel)
      first_usable_ = loops_.size();
    loop.body = block(loop.body);
    first_usable_ = outer;
    Block defines;
    for (const Row& row : loops_.back().rows)
      defines.push_back(Define{row.var, row.value});
    loops_.pop_back();
    return defines;
  }

  void set_depth(uint32_t var, size_t depth) {
    size_t& known = depths_[var];
    if (known != kNeverFixed)
      known = depth;
  }

  /// How many loops around the present place change the term.
  size_t depth_of(const Expr& term) const {
    if (has_load(term) || may_fail(term))
      return kNeverFixed;
    size_t depth = 0;
    for (const uint32_t var : vars_in(term)) {
      const auto found = depths_.find(var);
      depth = std::max(depth, found != depths_.end() ? found->second : 0);
    }
    return depth;
  }

  Expr with_rows(const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) {
      const auto* load = as<scalar::Load>(e);
      if (load == nullptr)
        return Expr();
      auto flat = flat_index(load->tensor, load->index);
      return flat ? scalar::load(load->tensor, {*std::move(flat)}, e.type()) : Expr();
    });
  }

  /// One index in place of all, when a part of it is worth a row; a run of elements stays a ramp.
  std::optional<Expr> flat_index(uint32_t buffer, const std::vector<Expr>& index) {
    if (loops_.size() == first_usable_ || index.empty() ||
        index.size() != kernel_.buffers[buffer].shape.size())
      return std::nullopt;
    std::vector<Expr> first = index;
    const auto* ramp = as<scalar::Ramp>(index.back());
    if (ramp != nullptr)
      first.back() = ramp->base;
    for (const Expr& e : first)
      if (e.type() != scalar::kIndex)
        return std::nullopt;
    if (strides_[buffer].empty())
      strides_[buffer] = strides_of(kernel_.buffers[buffer]);
    AffineSum sum = scalar::affine_sum(position(first, strides_[buffer]));
    if (!take_rows(buffer, sum))
      return std::nullopt;
    const Expr flat = scalar::expr_of(sum);
    return ramp != nullptr ? scalar::ramp(flat, ramp->stride, index.back().type().lanes) : flat;
  }

  /// Replaces what loops leave alone by variables, outer loops first. False: nothing was.
  bool take_rows(uint32_t buffer, AffineSum& sum) {
    bool is_taken = false;
    std::vector<size_t> depths;
    for (const auto& term : sum.terms)
      depths.push_back(depth_of(term.first));
    for (size_t l = first_usable_; l < loops_.size(); ++l) {
      AffineSum fixed, rest;
      std::vector<size_t> rest_depths;
      bool is_worth_it = false;
      for (size_t t = 0; t < sum.terms.size(); ++t) {
        // Sizes alone are distances between neighbours.
        const bool is_fixed = depths[t] <= l && !vars_in(sum.terms[t].first).empty();
        (is_fixed ? fixed : rest).terms.push_back(sum.terms[t]);
        if (!is_fixed)
          rest_depths.push_back(depths[t]);
        is_worth_it = is_worth_it || (is_fixed && is_work(sum.terms[t]));
      }
      if (!is_worth_it)
        continue;
      rest.constant = sum.constant;
      rest.terms.insert(rest.terms.begin(), {row(l, buffer, scalar::expr_of(fixed)), 1});
      rest_depths.insert(rest_depths.begin(), l);
      sum = std::move(rest);
      depths = std::move(rest_depths);
      is_taken = true;
    }
    return is_taken;
  }

  Expr row(size_t loop, uint32_t buffer, const Expr& value) {
    for (const Row& known : loops_[loop].rows)
      if (known.buffer == buffer && scalar::equal(known.value, value))
        return scalar::var(known.var);
    const Buffer& b = kernel_.buffers[buffer];
    const uint32_t var =
        add_variable(kernel_, b.name + (b.shape.size() > 1 ? "_row" : "_at"), scalar::kIndex);
    set_depth(var, loop);
    loops_[loop].rows.push_back({buffer, value, var});
    return scalar::var(var);
  }

  Kernel& kernel_;
  std::vector<std::vector<Expr>> strides_; ///< by buffer; empty until wanted
  std::vector<Loop> loops_;                ///< around the present place, outermost first
  size_t first_usable_ = 0;                ///< loops before this one have a parallel loop inside
  /// By variable: how many of the loops around it give it new values.
  std::unordered_map<uint32_t, size_t> depths_;
};

} // namespace

Kernel addresses(Kernel kernel) {
  const Block body = kernel.body;
  kernel.body = Rows(kernel).block(body);
  return kernel;
}

} // namespace kawara::kernel
