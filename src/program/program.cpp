#include "program/program.h"

#include <algorithm>

namespace kawara::program {

std::string_view name_of(Role role) {
  switch (role) {
  case Role::Input:
    return "input";
  case Role::Output:
    return "output";
  case Role::Inout:
    return "inout";
  case Role::Temp:
    return "temp";
  }
  return "";
}

std::string_view name_of(Numerics numerics) {
  switch (numerics) {
  case Numerics::Exact:
    return "exact";
  case Numerics::Rounding:
    return "rounding";
  case Numerics::Fast:
    return "fast";
  }
  return "";
}

std::optional<Numerics> numerics_from_name(std::string_view name) {
  for (Numerics n : {Numerics::Exact, Numerics::Rounding, Numerics::Fast})
    if (name == name_of(n))
      return n;
  return std::nullopt;
}

void visit_exprs(const Statement& s, const std::function<void(const Expr&)>& f) {
  if (s.over) {
    f(s.over->lo);
    f(s.over->hi);
  }
  for (const Expr& e : s.index)
    f(e);
  f(s.value);
}

void map_exprs(Statement& s, const std::function<Expr(const Expr&)>& f) {
  if (s.over) {
    s.over->lo = f(s.over->lo);
    s.over->hi = f(s.over->hi);
  }
  for (Expr& e : s.index)
    e = f(e);
  s.value = f(s.value);
}

bool depends_on_data(const Statement& s) {
  bool depends = s.over || std::any_of(s.index.begin(), s.index.end(), scalar::reads_data);
  scalar::visit(s.value, [&](const Expr& e) {
    const auto* load = scalar::as<scalar::Load>(e);
    depends = depends || (load != nullptr &&
                          std::any_of(load->index.begin(), load->index.end(), scalar::reads_data));
  });
  return depends;
}

bool depends_on_data(const Program& program) {
  return std::any_of(program.statements.begin(), program.statements.end(),
                     [](const Statement& s) { return depends_on_data(s); });
}

scalar::Names names_of(const Program& program) {
  scalar::Names names;
  for (const Param& p : program.params)
    names.params.push_back(p.name);
  for (const Tensor& t : program.tensors)
    names.tensors.push_back(t.name);
  return names;
}

scalar::Names names_of(const Program& program, const Statement& statement) {
  scalar::Names names = names_of(program);
  names.iters = statement.iters;
  if (statement.over)
    names.iters.push_back(statement.over->name);
  return names;
}

} // namespace kawara::program
