#include "program/recognise_update.h"
#include "program/text/resolver.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

using ast::Kind;
using scalar::Elem;

// Assignments and tensor expressions. Names on the left that are no loops are free indices: they
// become loops around the statement, in the order in which they appear.

namespace {

bool reads(const ast::Expr& e, std::string_view tensor) {
  if ((e.kind == Kind::Index || e.kind == Kind::Name) && e.name == tensor)
    return true;
  for (const ast::Expr& arg : e.args)
    if (reads(arg, tensor))
      return true;
  return false;
}

} // namespace

Elem Resolver::compute_elem(uint32_t tensor) const {
  return scalar::compute_type(program_.tensors[tensor].elem);
}

void Resolver::assign(const ast::Statement& s, Body& out) {
  Assignment a;
  a.loops = uint32_t(scope_.size());
  a.where = s.where;
  auto index = target(s, a.tensor);
  a.nest = uint32_t(scope_.size());
  if (index) {
    assignment_ = &a;
    Body nodes;
    if (!whole_reduction(s, *index, nodes))
      plain_value(s, std::move(*index), nodes);
    Body inner = std::move(a.inside);
    for (BodyNode& node : nodes)
      inner.push_back(std::move(node));
    Nest nest;
    for (uint32_t p = 0; p < a.nest; ++p)
      nest.order.push_back(p);
    for (BodyNode& node : a.before)
      out.push_back(std::move(node));
    for (BodyNode& node : wrapped(nest, a.loops, a.nest, std::move(inner)))
      out.push_back(std::move(node));
    assignment_ = nullptr;
  }
  scope_.resize(a.loops);
}

/// The element that is written, with its free indices pushed onto the scope; empty after an error.
std::optional<std::vector<Expr>> Resolver::target(const ast::Statement& s, uint32_t& tensor) {
  const ast::Expr& t = s.target;
  if (t.is_bad())
    return std::nullopt;
  const Symbol* symbol = find(t.name);
  const bool is_loop = find_loop(t.name).has_value();
  if (const Local* local = find_local(t.name)) {
    report_.error(code::kNotATensor, t.name_where,
                  fmt::format("cannot assign to `{}`, which `let` names", t.name), "",
                  {{"declare a temp instead",
                    fmt::format("temp {}: {}", t.name, scalar::name_of(elem_for(t.name)))}},
                  {fmt::format("It names a value since {}.", report_.line_of(local->where))});
    return std::nullopt;
  }
  if (!symbol && !is_loop) {
    unknown_name(t.name, t.name_where, t.args.size());
    return std::nullopt;
  }
  if (is_loop || symbol->kind != SymbolKind::Tensor) {
    const char* what = is_loop                                ? "the loop"
                       : symbol->kind == SymbolKind::Function ? "the function"
                                                              : "the parameter";
    report_.error(code::kNotATensor, t.name_where,
                  fmt::format("cannot assign to {} `{}`", what, t.name), "",
                  {{"assign to a tensor, for example", fmt::format("temp {}_: i64", t.name)}});
    return std::nullopt;
  }
  if (symbol->is_poisoned)
    return std::nullopt;
  tensor = symbol->index;
  if (program_.tensors[tensor].role == Role::Input) {
    report_.error(
        code::kInputWritten, t.where, fmt::format("`{}` is an input and cannot be written", t.name),
        "", {{"declare it as", fmt::format("inout {}", t.name)}},
        {fmt::format("It is declared on {}.", report_.line_of(program_.tensors[tensor].where))});
    return std::nullopt;
  }
  return target_index(t, tensor);
}

std::optional<std::vector<Expr>> Resolver::target_index(const ast::Expr& t, uint32_t tensor) {
  const size_t rank = program_.tensors[tensor].shape.size();
  bool is_bad = false;
  if (t.args.size() == rank)
    for (uint32_t d = 0; d < rank; ++d)
      is_bad |=
          t.args[d].is_bad() || (is_unbound_name(t.args[d]) && !push_free(t.args[d], tensor, d));
  if (is_bad)
    return std::nullopt;
  // A free index again on the left must run over the same size.
  for (uint32_t d = 0; d < t.args.size() && t.args.size() == rank; ++d) {
    const auto loop = t.args[d].kind == Kind::Name ? find_loop(t.args[d].name) : std::nullopt;
    if (!loop || !scope_[*loop].is_dimension)
      continue;
    const Expr size = program_.tensors[tensor].shape[d];
    if (scalar::equal(scalar::simplify(size), scalar::simplify(scope_[*loop].hi)))
      continue;
    report_.error(
        code::kTwoRanges, t.args[d].where, fmt::format("`{}` has two ranges", t.args[d].name), "",
        {{"write the loop", fmt::format("for {} in range({}):", t.args[d].name, to_text(size))}},
        {fmt::format("`{}` is 0..{} and 0..{} in two dimensions of `{}`.", t.args[d].name,
                     to_text(scope_[*loop].hi), to_text(size), t.name)});
    return std::nullopt;
  }
  // An unknown name inside an index expression is most likely meant as a free index.
  const auto find_free = [&](const auto& self, const ast::Expr& e) -> const ast::Expr* {
    if (is_unbound_name(e))
      return &e;
    for (const ast::Expr& arg : e.args)
      if (const ast::Expr* found = self(self, arg))
        return found;
    return nullptr;
  };
  for (const ast::Expr& arg : t.args) {
    const ast::Expr* name = t.args.size() == rank ? find_free(find_free, arg) : nullptr;
    if (!name)
      continue;
    report_.error(code::kFreeIndex, name->where,
                  fmt::format("the range of `{}` is not known", name->name),
                  "not alone in any dimension on the left",
                  {{"write the loop", fmt::format("for {} in range(N):", name->name)}},
                  {fmt::format("`{}` is no loop here, and a free index must appear alone in a "
                               "dimension of the left side, which gives its range.",
                               name->name)});
    return std::nullopt;
  }
  return indices(t, tensor);
}

bool Resolver::push_free(const ast::Expr& index, uint32_t tensor, uint32_t dim) {
  if (scope_.size() >= kMaxLoops) {
    report_.error(code::kTooDeep, index.where,
                  fmt::format("more than {} loops around a statement", kMaxLoops));
    return false;
  }
  ScopeLoop loop{std::string(index.name),
                 scalar::int_lit(0),
                 program_.tensors[tensor].shape[dim],
                 1,
                 index.where,
                 true};
  scope_.push_back(std::move(loop));
  return true;
}

/// `C[i] = sum(k, ...)` and `C[i] += sum(k, ...)` accumulate in C itself, unless its floats are
/// narrower than those that are computed with: a sum is rounded once, at its end, wherever it
/// stands. False when the statement has another form; true also after an error.
bool Resolver::whole_reduction(const ast::Statement& s, const std::vector<Expr>& index, Body& out) {
  const auto reads_target = [&](const ast::Expr& e) { return reads(e, s.target.name); };
  // An index that reads the target would find its start value there.
  if (!is_reduction(s.value) || reads_target(s.value) ||
      std::any_of(s.target.args.begin(), s.target.args.end(), reads_target))
    return false;
  const bool is_arg = s.value.name == "argmax" || s.value.name == "argmin";
  if (s.op != ReduceOp::None && (is_arg || scalar::name_of(s.op) != s.value.name))
    return false;
  const uint32_t tensor = assignment_->tensor;
  const Elem elem = program_.tensors[tensor].elem;
  if (!is_arg && scalar::is_float(elem) && compute_elem(tensor) != elem)
    return false;
  Reduction r;
  if (open_reduction(s.value, r)) {
    if (s.is_minus)
      r.body = negated(r.body, r.where);
    Nest nest;
    for (uint32_t p = 0; p < scope_.size(); ++p)
      nest.order.push_back(p);
    nest.own = r.count;
    nest.elements = elements_of(index);
    if (is_arg)
      out = arg_body(r, nest, tensor, index);
    else if (const auto update = stored(r.body, tensor))
      out = reduction_body(r, nest, tensor, index, *update, s.op == ReduceOp::None);
  }
  close_reduction(r);
  return true;
}

/// Loops that tell the elements of the target apart and have a fixed range: a hidden temp beside
/// the target is indexed by them.
std::vector<uint32_t> Resolver::elements_of(const std::vector<Expr>& index) const {
  std::vector<char> used(scope_.size(), 0);
  for (const Expr& e : index)
    scalar::visit(e, [&](const Expr& part) {
      if (const auto* it = scalar::as<scalar::Iter>(part))
        used[it->index] = 1;
    });
  std::vector<uint32_t> elements;
  for (uint32_t p = 0; p < assignment_->nest; ++p)
    if (used[p] && has_fixed_range(scope_[p]))
      elements.push_back(p);
  return elements;
}

void Resolver::plain_value(const ast::Statement& s, std::vector<Expr> index, Body& out) {
  Value v = value(s.value);
  if (!v)
    return;
  if (s.is_minus)
    v = negated(v, v.where);
  const auto e = stored(v, assignment_->tensor);
  if (!e)
    return;
  std::vector<uint32_t> loops;
  for (uint32_t p = 0; p < assignment_->nest; ++p)
    loops.push_back(p);
  const StatementRef ref = add_statement(assignment_->tensor, std::move(index), s.op, *e, loops);
  recognise_update(program_.tensors, program_.statements[ref.statement]);
  out.push_back(ref);
}

/// The value in the compute type of the tensor.
std::optional<Expr> Resolver::stored(const Value& v, uint32_t tensor) {
  const Tensor& t = program_.tensors[tensor];
  const Elem to = scalar::compute_type(t.elem);
  if (!v.is_float() || scalar::is_float(to))
    return converted(v, to);
  report_.error(
      code::kFloatToInteger, v.where,
      fmt::format("a float is stored in `{}`, which holds {}", t.name, scalar::name_of(t.elem)), "",
      {{"round it", fmt::format("{}(floor({}))", scalar::name_of(to), text_of(v.where))},
       {"or declare", fmt::format("{}: f32", t.name)}});
  return std::nullopt;
}

StatementRef Resolver::add_statement(uint32_t tensor, std::vector<Expr> index, ReduceOp op,
                                     Expr value, const std::vector<uint32_t>& loops) {
  Statement s;
  for (uint32_t p : loops)
    s.iters.push_back(shown_name(scope_[p]));
  s.tensor = tensor;
  s.index = std::move(index);
  s.op = op;
  s.value = std::move(value);
  s.where = assignment_->where;
  program_.statements.push_back(std::move(s));
  return {uint32_t(program_.statements.size() - 1)};
}

} // namespace kawara::program
