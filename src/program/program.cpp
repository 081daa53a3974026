#include "program/program.h"

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
  return names;
}

} // namespace kawara::program
