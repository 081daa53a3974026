#include "program/text/resolver.h"

#include "support/text.h"

#include <fmt/format.h>

namespace kawara::program {

using ast::StatementKind;

namespace {

constexpr Place kSize{"a size"};

} // namespace

Program Resolver::run() {
  program_.source = report_.source();
  params();
  functions();
  constants();
  tensors();
  for (const ast::Expr& cond : file_.assumptions)
    if (cond.kind == ast::Kind::Binder)
      assume_values(cond);
    else if (Expr e = condition(cond))
      program_.assumptions.push_back(std::move(e));
  numerics();
  body(file_.body, program_.body);
  absorb_data_loops(program_.body);
  require_output();
  return std::move(program_);
}

bool Resolver::declare(std::string_view name, Span where, Symbol symbol) {
  const auto [it, is_new] = symbols_.emplace(std::string(name), symbol);
  if (is_new)
    return true;
  report_.error(
      code::kDeclaredTwice, where, fmt::format("`{}` is declared twice", name), "",
      {{"", "remove or rename one of the two"}},
      {fmt::format("The first declaration is on {}.", report_.line_of(it->second.where))});
  return false;
}

void Resolver::params() {
  for (const ast::ParamDecl& p : file_.params) {
    const auto index = uint32_t(program_.params.size());
    if (declare(p.name, p.where, {SymbolKind::Param, index, p.where, false}))
      program_.params.push_back(
          {std::string(p.name), p.where, p.value ? default_size(*p.value) : std::nullopt});
  }
}

std::optional<int64_t> Resolver::default_size(const ast::Expr& e) {
  if (e.is_bad())
    return std::nullopt;
  const auto size = scalar::constant_of(affine_if_any(e));
  if (size && *size >= 0)
    return size;
  report_.error(code::kDefaultSize, e.where, fmt::format("`{}` is no size", text_of(e.where)), "",
                {{"write a constant, 0 or more", "param N = 1024"}});
  return std::nullopt;
}

void Resolver::tensors() {
  for (const ast::TensorDecl& decl : file_.tensors)
    tensor(decl);
}

void Resolver::tensor(const ast::TensorDecl& decl) {
  Tensor t;
  t.name = decl.name;
  t.role = decl.role;
  t.is_constant = decl.is_constant;
  t.where = decl.where;
  bool is_poisoned = decl.is_bad;
  if (const auto elem = scalar::elem_from_name(decl.elem)) {
    t.elem = *elem;
  } else if (!is_poisoned) {
    const std::string meant = elem_meant(decl.elem).value_or("");
    std::vector<Help> help;
    if (!meant.empty())
      help.push_back({"did you mean", meant});
    report_.error(
        code::kUnknownElem, decl.elem_where, fmt::format("unknown element type `{}`", decl.elem),
        "", help,
        {"Element types are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool."});
    is_poisoned = true;
  }
  if (decl.shape.size() > kMaxRank) {
    report_.error(code::kTooLarge, decl.where,
                  fmt::format("`{}` has more than {} dimensions", decl.name, kMaxRank));
    is_poisoned = true;
  }
  for (const ast::Expr& size : decl.shape) {
    Expr e = is_poisoned ? Expr{} : affine(size, kSize);
    is_poisoned |= !e;
    t.shape.push_back(std::move(e));
  }
  const auto index = uint32_t(program_.tensors.size());
  if (declare(decl.name, decl.where, {SymbolKind::Tensor, index, decl.where, is_poisoned}))
    program_.tensors.push_back(std::move(t));
}

void Resolver::numerics() {
  for (const ast::NumericsDecl& n : file_.numerics) {
    const auto contract = numerics_from_name(n.name);
    if (!contract)
      report_.error(code::kUnknownNumerics, n.where,
                    fmt::format("unknown numerics contract `{}`", n.name), "",
                    {{"write one of", "exact, rounding, fast"}});
    else if (n.where.begin != file_.numerics.front().where.begin)
      report_.error(code::kSecondNumerics, n.where, "a second `numerics` line", "",
                    {{"", "keep one of the two"}},
                    {fmt::format("The contract was chosen on {}.",
                                 report_.line_of(file_.numerics.front().where))});
    else
      program_.numerics = *contract;
  }
}

void Resolver::body(const std::vector<ast::Statement>& statements, Body& out) {
  const size_t outer = locals_.size();
  for (size_t k = 0; k < statements.size(); ++k) {
    const ast::Statement& s = statements[k];
    if (s.kind == StatementKind::For)
      for_loop(s, out);
    else if (s.kind == StatementKind::If)
      if_else(s, out);
    else if (s.kind == StatementKind::Assign)
      assign(s, out);
    else if (&statements != &file_.body || !is_constant_let(s))
      let(s, statements, k + 1, out);
  }
  locals_.resize(outer);
}

bool Resolver::check_loop_name(std::string_view name, Span where, const char* what) {
  Span first;
  if (const auto loop = find_loop(name))
    first = scope_[*loop].where;
  else if (const Local* local = find_local(name))
    first = local->where;
  else if (const Symbol* symbol = find(name))
    first = symbol->where;
  else
    return true;
  report_.error(code::kShadows, where, fmt::format("{} `{}` hides an outer `{}`", what, name, name),
                "", {{"choose another name, for example", std::string(name) + "2"}},
                {fmt::format("`{}` is in use since {}.", name, report_.line_of(first))});
  return false;
}

void Resolver::for_loop(const ast::Statement& s, Body& out) {
  if (s.name.empty())
    return;
  check_loop_name(s.name, s.name_where, "loop");
  ScopeLoop scope{std::string(s.name), scalar::int_lit(0), scalar::int_lit(1), 1, s.where, false};
  if (!s.range.is_bad())
    range(s.range.args, s.range.where, scope, true);
  Loop loop{scope.name, scope.lo, scope.hi, scope.step, s.where, {}};
  scope_.push_back(std::move(scope));
  body(s.body, loop.body);
  scope_.pop_back();
  out.push_back(std::move(loop));
}

void Resolver::if_else(const ast::Statement& s, Body& out) {
  If branch;
  branch.cond = condition(s.cond);
  branch.where = s.where;
  body(s.body, branch.then);
  body(s.otherwise, branch.otherwise);
  out.push_back(std::move(branch));
}

bool Resolver::range(const std::vector<ast::Expr>& args, Span where, ScopeLoop& loop,
                     bool takes_data) {
  const Place bound{"a loop bound", false, takes_data};
  if (args.empty() || args.size() > 3) {
    report_.error(code::kRange, where, fmt::format("`range` with {} arguments", args.size()), "",
                  {{"write", "range(hi), range(lo, hi) or range(lo, hi, step)"}});
    return false;
  }
  Expr lo = args.size() > 1 ? affine(args[0], bound) : scalar::int_lit(0);
  Expr hi = affine(args[args.size() > 1 ? 1 : 0], bound);
  const auto step = args.size() == 3 ? step_of(args[2]) : std::optional<int64_t>(1);
  if (!lo || !hi || !step)
    return false;
  loop.lo = std::move(lo);
  loop.hi = std::move(hi);
  loop.step = *step;
  return true;
}

std::optional<int64_t> Resolver::step_of(const ast::Expr& e) {
  if (e.is_bad())
    return std::nullopt;
  const Expr step = affine(e, {"a step"});
  const auto value = scalar::constant_of(step);
  if (value && *value != 0)
    return value;
  if (step)
    report_.error(code::kStep, e.where,
                  value ? "a step of 0 would never end" : "the step of a range must be a constant",
                  "", {{"write a non-zero integer", "range(0, N, 2), range(N - 1, -1, -1)"}});
  return std::nullopt;
}

void Resolver::require_output() {
  if (report_.has_errors())
    return;
  for (const Tensor& t : program_.tensors)
    if (t.role == Role::Output || t.role == Role::Inout)
      return;
  const Span where = program_.statements.empty() ? Span{} : program_.statements.front().where;
  report_.error(code::kNoOutput, where, "the program has no output", "",
                {{"declare what it computes, for example", "output C: f32[N]"}},
                {"Only `output` and `inout` tensors can be seen after a run."});
}

} // namespace kawara::program
