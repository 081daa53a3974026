#include "program/text/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

using ast::Kind;

// `max` and `min` are scalar functions and reductions. The call is a reduction when its first
// argument is an index: a bare name that is neither a loop, nor a parameter, nor a tensor; a tuple
// of such names; or `k in range(...)`. `sum`, `prod`, `argmax` and `argmin` are always reductions.

namespace {

struct Operator {
  ReduceOp op;
  bool is_arg;
  bool is_scalar_too;
};

std::optional<Operator> operator_of(std::string_view name) {
  if (name == "sum")
    return Operator{ReduceOp::Sum, false, false};
  if (name == "prod")
    return Operator{ReduceOp::Prod, false, false};
  if (name == "max" || name == "min")
    return Operator{name == "max" ? ReduceOp::Max : ReduceOp::Min, false, true};
  if (name == "argmax" || name == "argmin")
    return Operator{name == "argmax" ? ReduceOp::Max : ReduceOp::Min, true, false};
  return std::nullopt;
}

bool mentions(const ast::Expr& e, std::string_view name) {
  if (e.kind == Kind::Name && e.name == name)
    return true;
  for (const ast::Expr& arg : e.args)
    if (mentions(arg, name))
      return true;
  return false;
}

} // namespace

bool Resolver::is_reduction(const ast::Expr& e) {
  if (e.kind != Kind::Call)
    return false;
  const auto op = operator_of(e.name);
  if (!op || !op->is_scalar_too || e.args.empty())
    return op.has_value();
  const ast::Expr& first = e.args[0];
  if (first.kind == Kind::Tuple || first.kind == Kind::Binder)
    return true;
  return e.args.size() >= 2 && is_unbound_name(first);
}

/// Brings the indices of a reduction into scope and resolves its body there. The caller closes it,
/// also after an error.
bool Resolver::open_reduction(const ast::Expr& e, Reduction& r) {
  const Operator op = *operator_of(e.name);
  r.op = op.op;
  r.is_arg = op.is_arg;
  r.where = e.where;
  r.first = uint32_t(scope_.size());
  const std::string usage = fmt::format("{0}(k, A[i, k]), {0}(k in range(3), A[i, k])", e.name);
  if (e.args.size() < 2) {
    report_.error(code::kReduction, e.where,
                  fmt::format("`{}` needs an index and the expression to reduce", e.name), "",
                  {{"write, for example", usage}});
    return false;
  }
  const ast::Expr& body = e.args.back();
  std::vector<const ast::Expr*> binders;
  for (size_t i = 0; i + 1 < e.args.size(); ++i) {
    if (e.args[i].kind == Kind::Tuple)
      for (const ast::Expr& part : e.args[i].args)
        binders.push_back(&part);
    else
      binders.push_back(&e.args[i]);
  }
  if (r.is_arg && binders.size() > 1) {
    report_.error(code::kReduction, e.where, fmt::format("`{}` takes one index", e.name), "",
                  {{"reduce one index after the other", usage}});
    return false;
  }
  if (binders.size() > kMaxIndices || scope_.size() + binders.size() > kMaxLoops) {
    report_.error(code::kTooDeep, e.where, "too many indices in one reduction", "",
                  {{"", "compute a part first in a temp"}});
    return false;
  }
  bool is_good = true;
  for (const ast::Expr* binder : binders)
    is_good = is_good && bind(*binder, body, e);
  if (!is_good)
    return false;
  r.count = uint32_t(scope_.size()) - r.first;
  r.body = value(body);
  return bool(r.body);
}

void Resolver::close_reduction(const Reduction& r) {
  scope_.resize(std::min<size_t>(r.first, scope_.size()));
}

/// Adds one index to the scope, with the range it is given or has in the body.
bool Resolver::bind(const ast::Expr& binder, const ast::Expr& body, const ast::Expr& call) {
  const bool is_named = binder.kind == Kind::Name || binder.kind == Kind::Binder;
  if (binder.is_bad())
    return false;
  if (!is_named) {
    const bool is_scalar_too = operator_of(call.name)->is_scalar_too;
    report_.error(is_scalar_too ? code::kAmbiguous : code::kReduction, binder.where,
                  fmt::format("`{}` is not the name of an index", text_of(binder.where)), "",
                  {{"reductions are written", fmt::format("{}(k, A[i, k])", call.name)}},
                  is_scalar_too
                      ? std::vector<std::string>{fmt::format(
                            "`{}` starts with an index, `{}`, so it reads as a reduction.",
                            call.name, text_of(call.args[0].where))}
                      : std::vector<std::string>{});
    return false;
  }
  if (is_bound(binder.name)) {
    if (operator_of(call.name)->is_scalar_too && binder.kind == Kind::Name)
      report_.error(code::kAmbiguous, binder.where,
                    fmt::format("`{}` is already in use, so it cannot be an index of `{}`",
                                binder.name, call.name),
                    "",
                    {{"for a reduction choose a new name", fmt::format("{}2", binder.name)},
                     {"for the larger or smaller of values", "name no new index"}});
    else
      check_loop_name(binder.name, binder.name_where, "index");
    return false;
  }
  ScopeLoop loop;
  loop.name = binder.name;
  loop.where = binder.where;
  const bool is_known = binder.kind == Kind::Binder
                            ? range(binder.args, binder.where, loop, true)
                            : infer_range(binder.name, binder.where, body, loop);
  if (!is_known)
    return false;
  loop.shown = unused_name(loop.name);
  scope_.push_back(std::move(loop));
  return true;
}

/// Inside a function, loops of the caller may have the same name: another one for the Program, else
/// none.
std::string Resolver::unused_name(const std::string& name) const {
  const auto is_taken = [&](const std::string& candidate) {
    return std::any_of(scope_.begin(), scope_.end(),
                       [&](const ScopeLoop& loop) { return shown_name(loop) == candidate; }) ||
           find(candidate) != nullptr;
  };
  if (!is_taken(name))
    return {};
  std::string other;
  for (int k = 2; other.empty() || is_taken(other); ++k)
    other = fmt::format("{}_{}", name, k);
  return other;
}

/// The dimension that `name` runs over as a bare index in `body`.
bool Resolver::infer_range(std::string_view name, Span where, const ast::Expr& body,
                           ScopeLoop& loop) {
  std::vector<Use> uses;
  bool is_poisoned = false;
  const auto collect = [&](const auto& self, const ast::Expr& e) -> void {
    const Symbol* symbol = e.kind == Kind::Index ? find(e.name) : nullptr;
    is_poisoned |= e.is_bad() || (e.kind == Kind::Index && (!symbol || symbol->is_poisoned));
    for (uint32_t d = 0; d < e.args.size(); ++d) {
      const bool is_bare = symbol && !symbol->is_poisoned && symbol->kind == SymbolKind::Tensor &&
                           e.args[d].kind == Kind::Name && e.args[d].name == name;
      if (is_bare && d < program_.tensors[symbol->index].shape.size())
        uses.push_back({symbol->index, d, e.args[d].where});
      self(self, e.args[d]);
    }
  };
  collect(collect, body);
  if (uses.empty()) {
    if (is_poisoned) {
      // Reports the unknown tensor; that the index is unknown too is only a consequence.
      const bool is_new = reported_.insert(std::string(name)).second;
      value(body);
      if (is_new)
        reported_.erase(std::string(name));
      return false;
    }
    std::vector<std::string> why;
    std::vector<Help> help = {{"give its range", fmt::format("{} in range(3)", name)}};
    if (!mentions(body, name)) {
      why.push_back(fmt::format("`{}` is not declared, so this reads as a reduction over `{}`; "
                                "the expression does not use it.",
                                name, name));
      if (const auto meant = name_meant(name))
        help.insert(help.begin(), Help{"did you mean", *meant});
    }
    report_.error(code::kNoRange, where, fmt::format("the range of `{}` is not known", name),
                  "nowhere alone as the index of a tensor", std::move(help), std::move(why));
    return false;
  }
  const auto size_of = [&](const Use& use) { return program_.tensors[use.tensor].shape[use.dim]; };
  const Expr first = scalar::simplify(size_of(uses[0]));
  for (const Use& use : uses) {
    if (scalar::equal(first, scalar::simplify(size_of(use))))
      continue;
    const std::string a = to_text(size_of(uses[0])), b = to_text(size_of(use));
    report_.error(
        code::kTwoRanges, use.where, fmt::format("`{}` has two ranges", name), "",
        {{"say which one is meant", fmt::format("{} in range({})", name, a)}},
        {fmt::format("`{}` is 0..{} in `{}` but 0..{} in `{}`.", name, a,
                     program_.tensors[uses[0].tensor].name, b, program_.tensors[use.tensor].name)});
    return false;
  }
  loop.lo = scalar::int_lit(0);
  loop.hi = size_of(uses[0]);
  loop.is_dimension = true;
  return true;
}

} // namespace kawara::program
