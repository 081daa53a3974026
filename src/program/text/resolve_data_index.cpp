#include "program/text/resolver.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

using ast::Kind;

// Indices that are read from tensors, and what a program assumes of their values.

namespace {

std::vector<Expr> checked_uses(std::vector<Expr> index, uint32_t tensor, uint32_t loop,
                               const Program& program) {
  for (uint32_t d = 0; d < index.size(); ++d) {
    bool uses = false;
    scalar::visit(index[d], [&](const Expr& e) {
      const auto* it = scalar::as<scalar::Iter>(e);
      uses = uses || (it && it->index == loop);
    });
    if (uses && !scalar::as<scalar::Within>(index[d]))
      index[d] = scalar::within(index[d], program.tensors[tensor].shape[d], tensor, d);
  }
  return index;
}

} // namespace

bool Resolver::has_reduction(const ast::Expr& e) {
  return (e.kind == Kind::Call && is_reduction(e)) ||
         std::any_of(e.args.begin(), e.args.end(),
                     [&](const ast::Expr& arg) { return has_reduction(arg); });
}

/// A value that is part of an index: an integer, as i64.
Expr Resolver::data_index(const ast::Expr& e, Place place) {
  if (has_reduction(e))
    return not_affine(e, place, "A reduction is computed by statements of its own.",
                      {{"compute it first", "in a temp"}});
  const Value v = value(e);
  if (!v)
    return {};
  if (!v.is_float() && !v.is_bool())
    return converted(v, scalar::Elem::I64);
  report_.error(
      code::kDataIndex, e.where,
      fmt::format("`{}` is {}, not an integer, and cannot be part of an index", text_of(e.where),
                  v.is_float() ? "a float" : "a condition"),
      "", {{"convert it", fmt::format("i64({})", text_of(e.where))}},
      {"Indices are integers: loops, parameters, elements of integer tensors, and what is "
       "computed of them."});
  return {};
}

/// `assume idx in range(lo, hi)`.
void Resolver::assume_values(const ast::Expr& binder) {
  const Symbol* symbol = find(binder.name);
  if (!symbol) {
    unknown_name(binder.name, binder.name_where, true);
    return;
  }
  if (symbol->is_poisoned)
    return;
  Tensor* t = symbol->kind == SymbolKind::Tensor ? &program_.tensors[symbol->index] : nullptr;
  if (!t || !scalar::is_integer(t->elem)) {
    report_.error(
        code::kAssumedValues, binder.where,
        fmt::format("`{}` is no tensor of integers", binder.name), "",
        {{"of a parameter, write", fmt::format("assume {} < N", binder.name)}},
        {"`assume x in range(N)` says what the elements of `x` hold where they are read as "
         "indices."});
    return;
  }
  if (t->values) {
    report_.error(code::kAssumedValues, binder.where,
                  fmt::format("the values of `{}` are assumed twice", binder.name), "",
                  {{"", "keep one of the two"}});
    return;
  }
  ScopeLoop range_of{std::string(binder.name), {}, {}, 1, binder.where, false};
  if (!range(binder.args, binder.where, range_of, false))
    return;
  if (range_of.step != 1) {
    report_.error(code::kRange, binder.where, "assumed values have no step", "",
                  {{"write", "range(hi) or range(lo, hi)"}});
    return;
  }
  t->values = ValueRange{range_of.lo, range_of.hi};
}

namespace {

/// Indices that use the loop's value are as good as read: each is checked.
Expr with_checked_uses(const Expr& root, uint32_t loop, const Program& program) {
  return scalar::rewrite(root, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr)
      return Expr();
    return scalar::load(load->tensor, checked_uses(load->index, load->tensor, loop, program),
                        e.type());
  });
}

/// Why a loop whose bounds read data cannot be part of a statement.
std::string what_it_has(const Loop& loop) {
  if (loop.step != 1)
    return "has a step";
  if (loop.body.size() != 1)
    return "holds more than one assignment";
  return std::holds_alternative<If>(loop.body[0]) ? "holds a condition" : "holds another loop";
}

} // namespace

/// A loop whose bounds read data becomes part of the one statement in it.
void Resolver::absorb_data_loops(Body& body) {
  for (BodyNode& node : body) {
    if (auto* branch = std::get_if<If>(&node)) {
      absorb_data_loops(branch->then);
      absorb_data_loops(branch->otherwise);
    }
    auto* loop = std::get_if<Loop>(&node);
    if (!loop)
      continue;
    absorb_data_loops(loop->body);
    if (!scalar::reads_data(loop->lo) && !scalar::reads_data(loop->hi))
      continue;
    const auto* only = loop->body.size() == 1 ? std::get_if<StatementRef>(&loop->body[0]) : nullptr;
    if (!only || loop->step != 1 || program_.statements[only->statement].over) {
      report_.error(code::kDataLoop, loop->where,
                    "a loop whose range is read from data " + what_it_has(*loop), "",
                    {{"write a sum", "y[i] = sum(p in range(ptr[i], ptr[i + 1]), val[p])"},
                     {"or run to a size that is known, and choose", "select(p < n[i], x, 0)"}},
                    {"How often it runs is only known when the program runs. It may hold one "
                     "assignment, and no loops or conditions; its step is 1."});
      return;
    }
    Statement& s = program_.statements[only->statement];
    const auto depth = uint32_t(s.iters.size() - 1);
    s.iters.pop_back();
    s.over = DataLoop{loop->name, loop->lo, loop->hi, loop->where};
    s.index = checked_uses(s.index, s.tensor, depth, program_);
    map_exprs(s, [&](const Expr& e) { return with_checked_uses(e, depth, program_); });
    node = BodyNode(*only);
  }
}

} // namespace kawara::program
