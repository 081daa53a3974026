#include "program/text/resolver.h"

#include <algorithm>

namespace kawara::program {

using ast::Kind;
using ast::StatementKind;
using scalar::Elem;

// The element type that a name nobody declared would need: that of what the file assigns to it.

namespace {

bool keeps_type(std::string_view function) {
  static constexpr std::string_view kNames[] = {"min",  "max",    "abs", "clamp",
                                                "relu", "select", "sum", "prod"};
  return std::find(std::begin(kNames), std::end(kNames), function) != std::end(kNames);
}

} // namespace

/// What stands in the values that are assigned to a name.
struct Resolver::AssignedParts {
  const Resolver& resolver;
  std::string_view name;
  std::optional<Elem> typed = {}; ///< the widest of tensors and conversions
  bool has_fraction = false;      ///< literals and functions that make floats
  bool has_index = false;         ///< loops and parameters
  bool has_condition = false;
  bool has_literal = false;
  bool has_unknown = false;
  bool is_counted = false; ///< some statement adds to it

  void add_type(Elem elem) {
    const auto width = [](Elem e) { return (scalar::is_float(e) ? 100 : 0) + scalar::bytes_of(e); };
    const Elem computed = scalar::compute_type(elem);
    if (!typed || width(computed) > width(*typed))
      typed = computed;
  }

  void look(const ast::Expr& e) {
    switch (e.kind) {
    case Kind::Integer:
      has_literal = true;
      return;
    case Kind::Real:
      has_fraction = true;
      return;
    case Kind::Name:
    case Kind::Index:
      return look_name(e);
    case Kind::Call:
      return look_call(e);
    case Kind::Compare:
    case Kind::Not:
      has_condition = true;
      return;
    case Kind::Choice:
      look(e.args[1]);
      return look(e.args[2]);
    case Kind::Binary:
      has_fraction |= e.op == scalar::BinaryOp::Div;
      [[fallthrough]];
    case Kind::Negate:
      for (const ast::Expr& arg : e.args)
        look(arg);
      return;
    case Kind::Bad:
    case Kind::Tuple:
    case Kind::Binder:
      return;
    }
  }

  void look_name(const ast::Expr& e) {
    if (e.name == name)
      return;
    if (e.name == "inf" || e.name == "nan") {
      has_fraction = true;
    } else if (const Local* local = resolver.find_local(e.name)) {
      if (!local->value)
        has_unknown = true;
      else if (local->value.weak == Weak::No)
        add_type(local->value.elem());
      else
        (local->value.weak == Weak::Float ? has_fraction : has_index) = true;
    } else if (const Symbol* symbol = resolver.find(e.name);
               symbol != nullptr && symbol->kind == SymbolKind::Tensor && !symbol->is_poisoned) {
      add_type(resolver.program_.tensors[symbol->index].elem);
    } else if (symbol != nullptr || resolver.find_loop(e.name)) {
      has_index = true;
    } else {
      has_unknown = true;
    }
  }

  void look_call(const ast::Expr& e) {
    if (const auto elem = scalar::elem_from_name(e.name))
      return add_type(*elem);
    if (e.name == "argmax" || e.name == "argmin") {
      has_index = true;
      return;
    }
    const bool is_sum = resolver.find_function(e.name) == nullptr && e.args.size() == 2 &&
                        (e.name == "sum" || e.name == "prod");
    has_fraction |= resolver.find_function(e.name) == nullptr && !keeps_type(e.name);
    for (size_t k = is_sum || e.name == "select" ? 1 : 0; k < e.args.size(); ++k)
      look(e.args[k]);
  }

  void look(const std::vector<ast::Statement>& statements) {
    for (const ast::Statement& s : statements) {
      const bool is_meant = s.kind == StatementKind::Assign ? s.target.name == name
                            : s.kind == StatementKind::Let  ? s.name == name
                                                            : false;
      if (is_meant) {
        look(s.value);
        is_counted |= s.op != ReduceOp::None;
      }
      look(s.body);
      look(s.otherwise);
    }
  }
};

/// Of what the program computes, where nothing else tells.
Elem Resolver::usual_elem(bool is_float) const {
  const auto fits = [&](const Tensor& t) {
    return t.elem != Elem::Bool && (!is_float || scalar::is_float(t.elem));
  };
  for (const bool is_result : {true, false})
    for (const Tensor& t : program_.tensors)
      if (fits(t) && is_result == (t.role == Role::Output || t.role == Role::Inout))
        return scalar::compute_type(t.elem);
  return Elem::F32;
}

Elem Resolver::elem_for(std::string_view name) const {
  AssignedParts parts{*this, name};
  parts.look(file_.body);
  if (parts.typed && (scalar::is_float(*parts.typed) || !parts.has_fraction))
    return *parts.typed;
  if (parts.has_fraction)
    return usual_elem(true);
  if (parts.has_index && !parts.has_unknown)
    return Elem::I64;
  if (parts.has_condition && !parts.has_literal && !parts.has_unknown)
    return Elem::Bool;
  const bool is_count = parts.has_literal && parts.is_counted && !parts.has_unknown;
  return is_count ? Elem::I32 : usual_elem(false);
}

} // namespace kawara::program
