#include "program/parser.h"

#include <fmt/format.h>

namespace kawara::program {

namespace {

std::optional<Role> role_from_name(std::string_view word) {
  for (Role role : {Role::Input, Role::Output, Role::Inout, Role::Temp})
    if (word == name_of(role))
      return role;
  return std::nullopt;
}

} // namespace

/// One declaration line; false when the line is none.
bool Parser::declaration(ast::File& file) {
  if (!at(TokenKind::Name))
    return false;
  const Token word = peek();
  const bool is_constant = word.text == "const";
  const std::optional<Role> role = is_constant ? Role::Input : role_from_name(word.text);
  if (!role && word.text != "param" && word.text != "assume" && word.text != "numerics")
    return false;
  take();
  if (role)
    tensors(file, *role, is_constant);
  else if (word.text == "param")
    params(file);
  else if (word.text == "numerics")
    numerics(file);
  else if (ast::Expr cond = expr(); !panic_)
    file.assumptions.push_back(std::move(cond));
  finish_line();
  return true;
}

void Parser::params(ast::File& file) {
  do {
    const Token name = expect_name("the name of a parameter");
    if (!panic_)
      file.params.push_back({name.text, name.where});
  } while (accept(","));
}

void Parser::numerics(ast::File& file) {
  if (at(TokenKind::Name)) {
    const Token name = take();
    file.numerics.push_back({name.text, name.where});
  } else {
    fail_expected("`exact`, `rounding` or `fast`");
  }
}

void Parser::tensors(ast::File& file, Role role, bool is_constant) {
  do
    tensor(file, role, is_constant);
  while (accept(","));
}

void Parser::tensor(ast::File& file, Role role, bool is_constant) {
  ast::TensorDecl decl;
  decl.role = role;
  decl.is_constant = is_constant;
  const Token name = expect_name("the name of a tensor");
  if (panic_)
    return;
  decl.name = name.text;
  decl.where = name.where;
  if (at(",") || at(TokenKind::Newline)) {
    fail(code::kExpected, name.where, fmt::format("`{}` has no element type", name.text), "",
         {{"write, for example", fmt::format("{}: f32[N]", name.text)}});
  }
  expect(":", "before the element type");
  if (!panic_ && at(TokenKind::Name)) {
    const Token elem = take();
    decl.elem = elem.text;
    decl.elem_where = elem.where;
  } else {
    fail_expected("an element type such as `f32`");
  }
  if (accept("["))
    decl.shape = list("]", false);
  decl.is_bad = panic_;
  file.tensors.push_back(std::move(decl));
}

} // namespace kawara::program
