#include "program/text/parser.h"

#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::program {

namespace {

std::optional<Role> role_from_name(std::string_view word) {
  for (Role role : {Role::Input, Role::Output, Role::Inout, Role::Temp})
    if (word == name_of(role))
      return role;
  return std::nullopt;
}

} // namespace

/// `outptu y: f32[N]`: the word that is meant, said once, so that the names of the line are known
/// further down.
std::string_view Parser::declaring_word() {
  const Token word = peek();
  const bool is_declaration =
      peek(1).kind == TokenKind::Name && !is_reserved(peek(1).text) &&
      (peek(2).is(":") || peek(2).is(",") || peek(2).is("=") || peek(2).kind == TokenKind::Newline);
  if (!is_declaration || starts_line(word.text) || report_.is_full())
    return word.text;
  static const std::vector<std::string> kWords = {"param",  "input", "const",
                                                  "output", "inout", "temp"};
  const auto meant = closest(word.text, kWords);
  if (!meant)
    return word.text;
  fail(code::kNotAStatement, word.where, fmt::format("`{}` does not start a statement", word.text),
       "", {{"did you mean", *meant}});
  panic_ = false;
  return *std::find(kWords.begin(), kWords.end(), *meant);
}

/// One declaration line; false when the line is none.
bool Parser::declaration(ast::File& file) {
  if (!at(TokenKind::Name))
    return false;
  Token word = peek();
  word.text = declaring_word();
  const bool is_constant = word.text == "const";
  const std::optional<Role> role = is_constant ? Role::Input : role_from_name(word.text);
  if (!role && word.text != "param" && word.text != "assume" && word.text != "numerics" &&
      word.text != "def")
    return false;
  take();
  if (word.text == "def") {
    function(file);
    return true;
  }
  if (role)
    tensors(file, *role, is_constant);
  else if (word.text == "param")
    params(file);
  else if (word.text == "numerics")
    numerics(file);
  else
    assumptions(file);
  finish_line();
  return true;
}

/// `assume N >= 4 and M % 8 == 0`, `assume a in range(N) and b in range(M)`.
void Parser::assumptions(ast::File& file) {
  bool has_more = true;
  while (has_more && !panic_) {
    ast::Expr cond = argument();
    has_more = !panic_ && cond.kind == ast::Kind::Binder && accept("and");
    if (!panic_)
      file.assumptions.push_back(std::move(cond));
  }
}

void Parser::params(ast::File& file) {
  do {
    if (at_typed_name()) { // `param int N`
      const Token type = take();
      fail(code::kExpected, type.where, "a parameter has no type", "",
           {{"it is an integer", fmt::format("param {}", peek().text)}});
      panic_ = false;
      accept("*");
    }
    const Token name = expect_name("the name of a parameter");
    ast::ParamDecl decl{name.text, name.where, std::nullopt};
    if (accept("="))
      decl.value = expr();
    if (!panic_)
      file.params.push_back(std::move(decl));
  } while (accept(","));
}

/// `def f(a, b): result` on one line, or a block of `let` lines that ends with `return result`.
void Parser::function(ast::File& file) {
  ast::FunctionDecl f;
  const uint32_t begin = peek().where.begin;
  const Token name = expect_name("the name of a function");
  f.name = name.text;
  f.where = name.where;
  expect("(", "after the name");
  if (!panic_ && !accept(")")) {
    do {
      const Token parameter = expect_name("the name of a parameter");
      f.parameters.push_back({parameter.text, parameter.where});
    } while (accept(","));
    expect(")", "after the parameters");
  }
  colon(since(begin));
  const Span header = since(begin);
  if (panic_) {
    skip_line();
    skip_block();
    return;
  }
  function_body(f, header);
  file.functions.push_back(std::move(f));
}

void Parser::function_body(ast::FunctionDecl& f, Span header) {
  if (!at(TokenKind::Newline) && !at(TokenKind::End))
    return function_line(f);
  skip_line();
  if (at(TokenKind::Indent)) {
    take();
    while (!at(TokenKind::Dedent) && !at(TokenKind::End)) {
      line_begin_ = pos_;
      if (at(TokenKind::Newline))
        take();
      else
        function_line(f);
    }
    if (at(TokenKind::Dedent))
      take();
  }
  line_begin_ = pos_;
  if (!f.result.is_bad() || !f.is_whole)
    return;
  fail(code::kFunctionBody, header, fmt::format("`{}` gives no value", f.name), "",
       {{"end it with", "return x"}});
  panic_ = false;
}

/// One line of a function. What stands after `return` is never reached.
void Parser::function_line(ast::FunctionDecl& f) {
  const Token first = peek();
  if (!f.result.is_bad()) {
    fail(code::kFunctionBody, first.where, "this line stands after `return`", "",
         {{"", "move it up, or remove it"}});
  } else if (at("let")) {
    f.lets.push_back(let());
    return;
  } else if (first.is("for") || first.is("if") || first.is("while")) {
    fail(code::kFunctionBody, first.where, fmt::format("`{}` inside a function", first.text), "",
         {{"a function is `let` lines and a value, for example", "return x if x > 0 else 0"},
          {"sums are values", "return sum(k, A[i, k])"}});
  } else {
    accept("return");
    f.result = expr();
  }
  f.is_whole = f.is_whole && !panic_;
  finish_line();
  skip_block();
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
  std::string_view elem; // of all names of the line, where it stands before them
  do
    tensor(file, role, is_constant, elem);
  while (accept(","));
}

void Parser::tensor(ast::File& file, Role role, bool is_constant, std::string_view& elem) {
  ast::TensorDecl decl;
  decl.role = role;
  decl.is_constant = is_constant;
  if (at_typed_name()) {
    elem = elem_at(0);
    decl.elem_where = take().where;
    decl.is_bad = accept("*");
  }
  const Token name = expect_name("the name of a tensor");
  if (panic_)
    return;
  decl.name = name.text;
  decl.where = name.where;
  if (!elem.empty() && !at(":")) {
    decl.elem = elem;
    if (decl.elem_where.is_nowhere())
      decl.elem_where = name.where;
    tensor_of_type(decl);
    file.tensors.push_back(std::move(decl));
    return;
  }
  if (at(",") || at("[") || at(TokenKind::Newline)) {
    const uint32_t begin = peek().where.begin;
    const bool has_shape = accept("[");
    if (has_shape)
      decl.shape = list("]", false);
    const std::string shape =
        has_shape ? report_.source()->text.substr(begin, last_end_ - begin) : "[N]";
    fail(code::kExpected, name.where, fmt::format("`{}` has no element type", name.text), "",
         {{"write, for example", fmt::format("{}: f32{}", name.text, shape)}});
  }
  expect(":", "before the element type");
  if (!panic_ && at(TokenKind::Name)) {
    const Token type = take();
    decl.elem = type.text;
    decl.elem_where = type.where;
  } else {
    fail_expected("an element type such as `f32`");
  }
  if (accept("["))
    decl.shape = list("]", false);
  decl.is_bad = panic_;
  file.tensors.push_back(std::move(decl));
}

} // namespace kawara::program
