#include "program/text/resolver.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

using ast::Kind;
using ast::StatementKind;

// `let` names a value and `def` an expression with parameters. Neither exists in a Program: values
// are put in where they are named, or computed once into a hidden temp.

namespace {

bool names(const ast::Expr& e, std::string_view name) {
  return e.name == name || std::any_of(e.args.begin(), e.args.end(),
                                       [&](const ast::Expr& arg) { return names(arg, name); });
}

/// Statements at any depth that name `name`.
size_t uses(const std::vector<ast::Statement>& statements, size_t from, std::string_view name) {
  size_t count = 0;
  for (size_t k = from; k < statements.size(); ++k) {
    const ast::Statement& s = statements[k];
    const bool is_named = names(s.value, name) || names(s.target, name);
    count += (is_named ? 1 : 0) + uses(s.body, 0, name) + uses(s.otherwise, 0, name);
  }
  return count;
}

bool writes(const std::vector<ast::Statement>& statements, size_t from, std::string_view tensor) {
  for (size_t k = from; k < statements.size(); ++k) {
    const ast::Statement& s = statements[k];
    if ((s.kind == StatementKind::Assign && s.target.name == tensor) || writes(s.body, 0, tensor) ||
        writes(s.otherwise, 0, tensor))
      return true;
  }
  return false;
}

/// A function or a division: to compute it twice costs more than to keep it.
bool is_costly(const Expr& value) {
  bool found = false;
  scalar::visit(value, [&](const Expr& e) {
    const auto* n = scalar::as<scalar::Binary>(e);
    found |= scalar::as<scalar::Unary>(e) != nullptr;
    found |=
        n != nullptr && (n->op == scalar::BinaryOp::Div || n->op == scalar::BinaryOp::Pow ||
                         n->op == scalar::BinaryOp::Atan2 || n->op == scalar::BinaryOp::FloorDiv ||
                         n->op == scalar::BinaryOp::Mod);
  });
  return found;
}

} // namespace

const Resolver::Local* Resolver::find_local(std::string_view name) const {
  for (size_t i = locals_.size(); i-- > frame_.first_local;)
    if (locals_[i].name == name)
      return &locals_[i];
  for (const Local& constant : constants_)
    if (constant.name == name)
      return &constant;
  return nullptr;
}

/// The form of `e` that an index takes, silently empty where it has none.
Expr Resolver::affine_if_any(const ast::Expr& e, bool takes_data) {
  report_.mute();
  Expr form = affine(e, {"an index", false, takes_data});
  report_.unmute();
  return form;
}

/// Lines `let` of the file that name no tensor are known to declarations and functions, too.
bool Resolver::is_constant_let(const ast::Statement& s) const {
  const auto reads_tensor = [&](const auto& self, const ast::Expr& e) -> bool {
    if (e.kind == Kind::Index || e.kind == Kind::Binder)
      return true;
    const auto is_named = [&](const ast::TensorDecl& t) { return t.name == e.name; };
    if (e.kind == Kind::Name && std::any_of(file_.tensors.begin(), file_.tensors.end(), is_named))
      return true;
    return std::any_of(e.args.begin(), e.args.end(),
                       [&](const ast::Expr& arg) { return self(self, arg); });
  };
  return s.kind == StatementKind::Let && !reads_tensor(reads_tensor, s.value);
}

void Resolver::constants() {
  for (const ast::Statement& s : file_.body) {
    if (!is_constant_let(s) || s.name.empty() || !check_loop_name(s.name, s.name_where, "value"))
      continue;
    const Value v = s.value.is_bad() ? Value{} : value(s.value);
    constants_.push_back({std::string(s.name), v, v ? affine_if_any(s.value) : Expr{}, s.where});
  }
}

/// `let name = value`: `rest` is the block it stands in, from the line after it on.
void Resolver::let(const ast::Statement& s, const std::vector<ast::Statement>& block, size_t rest,
                   Body& out) {
  if (s.name.empty() || !check_loop_name(s.name, s.name_where, "value"))
    return;
  Assignment a;
  a.loops = a.nest = uint32_t(scope_.size());
  a.where = s.where;
  assignment_ = &a;
  Local local{std::string(s.name), {}, {}, s.where};
  if (!s.value.is_bad())
    local.value = value(s.value);
  if (local.value) {
    local.affine = affine_if_any(s.value, true);
    for (Body* part : {&a.before, &a.inside})
      for (BodyNode& node : *part)
        out.push_back(std::move(node));
    const bool reads = !local.affine || scalar::reads_data(local.affine);
    if (reads && needs_temp(local.value.expr, s.name, block, rest)) {
      local.value = kept(local, out);
      local.affine = {};
    }
  }
  assignment_ = nullptr;
  locals_.push_back(std::move(local));
}

/// Whether a value must be computed where it is named: a later line changes what it reads, or
/// several lines would compute it again at a cost.
bool Resolver::needs_temp(const Expr& value, std::string_view name,
                          const std::vector<ast::Statement>& block, size_t rest) const {
  bool is_changed = false, reads_any = false;
  scalar::visit(value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    if (load == nullptr)
      return;
    reads_any = true;
    is_changed |= writes(block, rest, program_.tensors[load->tensor].name);
  });
  return is_changed || (reads_any && is_costly(value) && uses(block, rest, name) > 1);
}

/// The value in a hidden scalar, and its load. Which iterations get copies of it is a matter of
/// schedules.
Value Resolver::kept(const Local& local, Body& out) {
  Nest nest;
  for (uint32_t p = 0; p < scope_.size(); ++p)
    nest.order.push_back(p);
  const uint32_t temp = make_hidden(local.name.c_str(), local.value.elem(), nest);
  out.push_back(add_statement(temp, {}, ReduceOp::None, converted(local.value, compute_elem(temp)),
                              nest.order));
  return load_of(temp, {}, local.where);
}

// Functions

void Resolver::functions() {
  for (const ast::FunctionDecl& f : file_.functions) {
    if (is_known_function(f.name)) {
      report_.error(code::kDeclaredTwice, f.where,
                    fmt::format("`{}` is a function of the language", f.name), "",
                    {{"choose another name, for example", fmt::format("my_{}", f.name)}});
      continue;
    }
    declare(f.name, f.where,
            {SymbolKind::Function, uint32_t(&f - file_.functions.data()), f.where, !f.is_whole});
  }
}

const ast::FunctionDecl* Resolver::find_function(std::string_view name) const {
  const Symbol* symbol = find(name);
  return symbol != nullptr && symbol->kind == SymbolKind::Function ? &file_.functions[symbol->index]
                                                                   : nullptr;
}

/// Binds the arguments of a call and resolves the function's lines with `result`, in a frame where
/// loops and values of the caller are not seen. False after an error.
bool Resolver::in_function(const ast::Expr& call,
                           const std::function<void(const ast::Expr&)>& result) {
  const ast::FunctionDecl& f = *find_function(call.name);
  if (!f.is_whole || f.result.is_bad() || !takes(call, f.parameters.size()))
    return false;
  if (std::find(frame_.calls.begin(), frame_.calls.end(), f.name) != frame_.calls.end()) {
    report_.error(code::kRecursion, call.where, fmt::format("`{}` calls itself", f.name), "",
                  {{"write it as a loop, or as a sum", "sum(k in range(8), x[k])"}},
                  {"Functions are put in where they are called, so that a call must have an end."});
    return false;
  }
  if (++inlined_ > kMaxCalls) {
    if (inlined_ == kMaxCalls + 1)
      report_.error(code::kTooLarge, call.where,
                    fmt::format("more than {} calls of functions in one file", kMaxCalls), "",
                    {{"compute a part first", "in a temp"}});
    return false;
  }
  std::vector<Local> arguments;
  for (size_t k = 0; k < f.parameters.size(); ++k) {
    const Value v = value(call.args[k]);
    if (!v)
      return false;
    arguments.push_back({std::string(f.parameters[k].name), v, affine_if_any(call.args[k], true),
                         f.parameters[k].where});
  }
  Frame inner{uint32_t(scope_.size()), uint32_t(locals_.size()), frame_.calls};
  inner.calls.push_back(f.name);
  const Frame outer = std::exchange(frame_, std::move(inner));
  const std::string told = report_.set_context(
      fmt::format("`{}` is called on {}.", f.name, report_.line_of(call.where)));
  bool is_good = true;
  for (Local& argument : arguments) {
    is_good &= check_loop_name(argument.name, argument.where, "parameter");
    locals_.push_back(std::move(argument));
  }
  for (const ast::Statement& s : f.lets) {
    is_good &= !s.name.empty() && check_loop_name(s.name, s.name_where, "value");
    const Value v = is_good ? value(s.value) : Value{};
    is_good &= bool(v);
    locals_.push_back(
        {std::string(s.name), v, is_good ? affine_if_any(s.value, true) : Expr{}, s.where});
  }
  if (is_good)
    result(f.result);
  locals_.resize(frame_.first_local);
  frame_ = outer;
  report_.set_context(told);
  return is_good;
}

Value Resolver::function_value(const ast::Expr& call) {
  Value v;
  in_function(call, [&](const ast::Expr& result) { v = value(result); });
  v.where = call.where;
  return limited(v);
}

Expr Resolver::function_affine(const ast::Expr& call, Place place) {
  Expr e;
  in_function(call, [&](const ast::Expr& result) { e = affine(result, place); });
  return e;
}

} // namespace kawara::program
