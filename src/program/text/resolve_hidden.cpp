#include "program/text/resolver.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

using scalar::BinaryOp;
using scalar::Elem;

// A reduction inside a larger expression is computed first, into a hidden temp.
//
//   y[i] = x[i] / sum(j, w[i, j])   one nest:  for i: _sum0[i] = 0; for j: ...; y[i] = x[i] / ...
//   y[i] = x[i] / sum(j, x[j])      two nests: _sum0 = 0; for j: ...   then   for i: y[i] = ...
//
// The first form is taken when the reduction depends on all free indices of the statement; the
// second computes it only once. The temp has one dimension per index that it depends on.

namespace {

// Number of elements that values lo..hi-1 need; a range may be empty, a size not negative.
Expr extent_of(const ScopeLoop& loop) {
  const Expr extent = scalar::simplify(scalar::binary(BinaryOp::Sub, loop.hi, loop.lo));
  const auto constant = scalar::constant_of(extent);
  if (loop.is_dimension || scalar::as<scalar::Param>(extent) || (constant && *constant >= 0))
    return extent;
  return scalar::binary(BinaryOp::Max, scalar::int_lit(0), extent);
}

// Neutral element as a value of the compute type that survives the store into `elem`.
Expr start_of(ReduceOp op, Elem elem) {
  const Elem computed = scalar::compute_type(elem);
  const Expr start = scalar::identity_of(op, {elem, 1});
  if (const auto* lit = scalar::as<scalar::IntLit>(start))
    return scalar::int_lit(lit->value, {computed, 1});
  return scalar::identity_of(op, {computed, 1});
}

const char* stem_of(ReduceOp op) {
  switch (op) {
  case ReduceOp::Prod:
    return "prod";
  case ReduceOp::Max:
    return "max";
  case ReduceOp::Min:
    return "min";
  default:
    return "sum";
  }
}

} // namespace

bool has_fixed_range(const ScopeLoop& loop) {
  bool varies = loop.step < 0;
  const auto look = [&](const Expr& e) {
    varies |= scalar::as<scalar::Iter>(e) != nullptr || scalar::as<scalar::Load>(e) != nullptr;
  };
  scalar::visit(loop.lo, look);
  scalar::visit(loop.hi, look);
  return !varies;
}

/// Places a nested reduction; false when an index it needs has no fixed range to store it by.
bool Resolver::nest_for(const Reduction& r, Nest& nest) {
  std::vector<char> needed(scope_.size(), 0);
  const auto mark = [&](const Expr& e) {
    if (const auto* it = scalar::as<scalar::Iter>(e))
      needed[it->index] = 1;
  };
  scalar::visit(r.body.expr, mark);
  // Ranges refer to loops further out only, so one sweep inwards-out finds everything.
  for (size_t p = scope_.size(); p-- > 0;) {
    if (!needed[p] && p < r.first)
      continue;
    scalar::visit(scope_[p].lo, mark);
    scalar::visit(scope_[p].hi, mark);
  }
  const uint32_t loops = assignment_->loops, free_end = assignment_->nest;
  nest.is_inside =
      std::all_of(needed.begin() + loops, needed.begin() + free_end, [](char n) { return n != 0; });
  nest.base = nest.is_inside ? free_end : loops;
  nest.own = r.count;
  for (uint32_t p = 0; p < r.first; ++p) {
    if (p < loops || needed[p])
      nest.order.push_back(p);
    if (!needed[p])
      continue;
    if (has_fixed_range(scope_[p])) {
      nest.elements.push_back(p);
    } else if (p >= loops) {
      const ScopeLoop& loop = scope_[p];
      report_.error(
          code::kVaryingRange, r.where,
          fmt::format("this reduction depends on `{}`, whose range varies", loop.name), "",
          {{"", "write the outer reduction as loops, with a temp of your own"}},
          {fmt::format("`{}` runs from {} to {}; the results are kept in a temp with one "
                       "element per value of `{}`, which needs a range that follows from the "
                       "parameters alone and goes upwards.",
                       loop.name, to_text(loop.lo), to_text(loop.hi), loop.name)});
      return false;
    }
  }
  for (uint32_t p = r.first; p < r.first + r.count; ++p)
    nest.order.push_back(p);
  return true;
}

uint32_t Resolver::make_hidden(const char* stem, Elem elem, const Nest& nest) {
  Tensor t;
  do
    t.name = fmt::format("_{}{}", stem, hidden_++);
  while (is_bound(t.name));
  t.elem = elem;
  t.where = assignment_->where;
  t.is_hidden = true;
  for (uint32_t p : nest.elements)
    t.shape.push_back(extent_of(scope_[p]));
  const auto index = uint32_t(program_.tensors.size());
  symbols_.emplace(t.name, Symbol{SymbolKind::Tensor, index, t.where, false});
  program_.tensors.push_back(std::move(t));
  return index;
}

/// Element of the hidden temp, as seen from the place of use or from inside the nest.
std::vector<Expr> Resolver::element(const Nest& nest, bool in_nest) const {
  std::vector<Expr> index;
  for (uint32_t p : nest.elements) {
    const Expr at = scalar::iter(p);
    const bool from_zero = scalar::constant_of(scope_[p].lo) == 0;
    const Expr e = from_zero ? at : scalar::binary(BinaryOp::Sub, at, scope_[p].lo);
    index.push_back(in_nest ? moved(e, nest) : e);
  }
  return index;
}

Expr Resolver::moved(const Expr& e, const Nest& nest) const {
  std::vector<Expr> iters;
  for (uint32_t p = 0; p < scope_.size(); ++p)
    iters.push_back(scalar::iter(p));
  for (uint32_t p = 0; p < nest.order.size(); ++p)
    iters[nest.order[p]] = scalar::iter(p);
  return scalar::substitute_iters(e, iters);
}

Body Resolver::wrapped(const Nest& nest, size_t from, size_t to, Body inner) const {
  for (size_t p = to; p-- > from;) {
    const ScopeLoop& s = scope_[nest.order[p]];
    Loop loop{shown_name(s), moved(s.lo, nest), moved(s.hi, nest),
              s.step,        s.where,           std::move(inner)};
    inner.clear();
    inner.push_back(std::move(loop));
  }
  return inner;
}

/// `tensor[index] = start; for own indices: tensor[index] op= update`.
Body Resolver::reduction_body(const Reduction& r, const Nest& nest, uint32_t tensor,
                              std::vector<Expr> index, const Expr& update, bool with_init) {
  const std::vector<uint32_t> outer(nest.order.begin(), nest.order.end() - nest.own);
  Body body;
  if (with_init)
    body.push_back(add_statement(tensor, index, ReduceOp::None,
                                 start_of(r.op, program_.tensors[tensor].elem), outer));
  Body inner;
  inner.push_back(add_statement(tensor, std::move(index), r.op, moved(update, nest), nest.order));
  for (BodyNode& node : wrapped(nest, outer.size(), nest.order.size(), std::move(inner)))
    body.push_back(std::move(node));
  return body;
}

namespace {

/// Whether computing it twice gives the same bits: nothing is rounded on the way.
bool is_plain_read(const Expr& e) {
  const auto* cast = scalar::as<scalar::Cast>(e);
  return scalar::as<scalar::Load>(e) != nullptr ||
         (cast != nullptr && is_plain_read(cast->arg) &&
          scalar::holds_all_of(e.type().elem, cast->arg.type().elem));
}

} // namespace

/// argmax and argmin of elements, the first index wins. Both loops are reductions, which have
/// lanes:
///   best = start; for k: best max= x;
///   at = hi; for k: at min= select(x == best, k, hi); at = select(at == hi, lo, at)
/// NaN never wins: of floats it is `best max= select(x == x, x, start)`, and where best is still
/// the start, at is lo.
Body Resolver::arg_of_elements(const Reduction& r, const Nest& nest, uint32_t tensor,
                               std::vector<Expr> index) {
  const Elem elem = r.body.is_bool() ? Elem::I32 : r.body.elem();
  const uint32_t best = make_hidden(stem_of(r.op), elem, nest);
  // Elements that hold no index that is too large for them would keep other ones.
  const bool is_wide = program_.tensors[tensor].elem == Elem::I64;
  const uint32_t at = is_wide ? tensor : make_hidden("at", Elem::I64, nest);
  const std::vector<Expr> best_element = element(nest, true),
                          at_element = is_wide ? index : best_element;
  const std::vector<uint32_t> outer(nest.order.begin(), nest.order.end() - nest.own);
  const Expr lo = moved(scope_[r.first].lo, nest);
  const Expr end = moved(scope_[r.first].hi, nest);
  const Expr hi = scope_[r.first].is_dimension ? end : scalar::binary(BinaryOp::Max, lo, end);
  const Expr x = moved(converted(r.body, elem), nest), start = start_of(r.op, elem);
  const bool is_float = scalar::is_float(elem);
  const auto loop = [&](StatementRef update) {
    return wrapped(nest, outer.size(), nest.order.size(), Body{update});
  };
  Body body;
  const auto append = [&](Body nodes) {
    for (BodyNode& node : nodes)
      body.push_back(std::move(node));
  };
  const Expr old_best = load_of(best, best_element, r.where).expr;
  const auto same = [](const Expr& a, const Expr& b) { return scalar::binary(BinaryOp::Eq, a, b); };
  body.push_back(add_statement(best, best_element, ReduceOp::None, start, outer));
  append(loop(add_statement(best, best_element, r.op,
                            is_float ? scalar::select(same(x, x), x, start) : x, nest.order)));
  body.push_back(add_statement(at, at_element, ReduceOp::None, hi, outer));
  append(loop(add_statement(
      at, at_element, ReduceOp::Min,
      scalar::select(same(x, old_best), moved(scalar::iter(r.first), nest), hi), nest.order)));
  const Expr found = load_of(at, at_element, r.where).expr;
  const Expr is_none = is_float ? same(old_best, start) : same(found, hi);
  body.push_back(add_statement(
      tensor, std::move(index), ReduceOp::None,
      converted({scalar::select(is_none, lo, found), Weak::No, 1, {}}, compute_elem(tensor)),
      outer));
  return body;
}

/// argmax and argmin of other values, which are computed once:
///   best = start; at = lo; for k: at = select(x > best, k, at); best max= x
/// NaN never wins: of floats it is `best max= select(x == x, x, start)`.
Body Resolver::arg_body(const Reduction& r, const Nest& nest, uint32_t tensor,
                        std::vector<Expr> index) {
  if (is_plain_read(r.body.expr) && scope_[r.first].step == 1)
    return arg_of_elements(r, nest, tensor, std::move(index));
  const Elem elem = r.body.is_bool() ? Elem::I32 : r.body.elem();
  const uint32_t best = make_hidden(stem_of(r.op), elem, nest);
  const std::vector<Expr> best_element = element(nest, true);
  const std::vector<uint32_t> outer(nest.order.begin(), nest.order.end() - nest.own);
  const scalar::Type at_type{compute_elem(tensor), 1};
  Body body;
  body.push_back(add_statement(best, best_element, ReduceOp::None, start_of(r.op, elem), outer));
  body.push_back(add_statement(
      tensor, index, ReduceOp::None,
      converted({moved(scope_[r.first].lo, nest), Weak::Integer, 1, {}}, at_type.elem), outer));
  const Expr x = moved(converted(r.body, elem), nest);
  const Expr old = converted(load_of(tensor, index, r.where), at_type.elem);
  const Expr k = scalar::cast(moved(scalar::iter(r.first), nest), at_type);
  const Expr is_better = scalar::binary(r.op == ReduceOp::Max ? BinaryOp::Gt : BinaryOp::Lt, x,
                                        load_of(best, best_element, r.where).expr);
  Body inner;
  inner.push_back(add_statement(tensor, std::move(index), ReduceOp::None,
                                scalar::select(is_better, k, old), nest.order));
  const Expr counted = scalar::is_float(elem) ? scalar::select(scalar::binary(BinaryOp::Eq, x, x),
                                                               x, start_of(r.op, elem))
                                              : x;
  inner.push_back(add_statement(best, best_element, r.op, counted, nest.order));
  for (BodyNode& node : wrapped(nest, outer.size(), nest.order.size(), std::move(inner)))
    body.push_back(std::move(node));
  return body;
}

Value Resolver::hidden_reduction(const Reduction& r) {
  Nest nest;
  if (!nest_for(r, nest))
    return {};
  const Elem wanted =
      assignment_->tensor == kNoTensor ? Elem::F64 : compute_elem(assignment_->tensor);
  Elem elem = r.body.is_bool() ? Elem::I32 : r.body.elem();
  if (r.body.weak == Weak::Float && scalar::is_float(wanted))
    elem = wanted;
  uint32_t temp = 0;
  Body body;
  if (r.is_arg) {
    temp = make_hidden(r.op == ReduceOp::Max ? "argmax" : "argmin", Elem::I64, nest);
    body = arg_body(r, nest, temp, element(nest, true));
  } else {
    temp = make_hidden(stem_of(r.op), elem, nest);
    body = reduction_body(r, nest, temp, element(nest, true), converted(r.body, elem), true);
  }
  body = wrapped(nest, nest.base, nest.order.size() - nest.own, std::move(body));
  Body& out = nest.is_inside ? assignment_->inside : assignment_->before;
  for (BodyNode& node : body)
    out.push_back(std::move(node));
  return load_of(temp, element(nest, false), r.where);
}

} // namespace kawara::program
