#include "program/text/other_words.h"
#include "program/text/parser.h"

#include <fmt/format.h>

namespace kawara::program {

using ast::Kind;

// `input float x[N]`, `double t = x[i]` and `(double)x[i]`: what C writes with a type before it is
// said once and read as it is meant, so that nothing further down is unknown.

/// The element type that a word stands for, in this language or another; else empty.
std::string_view Parser::elem_at(size_t ahead) const {
  const Token& word = peek(ahead);
  if (word.kind != TokenKind::Name)
    return {};
  const auto elem =
      scalar::elem_from_name(elem_elsewhere(word.text).value_or(std::string(word.text)));
  return elem ? scalar::name_of(*elem) : std::string_view{};
}

/// A type and a name, `float x`, `float *x`, where a name alone is expected.
bool Parser::at_typed_name() const {
  const size_t name = peek(1).is("*") ? 2 : 1;
  return !panic_ && !elem_at(0).empty() && peek(name).kind == TokenKind::Name &&
         !is_reserved(peek(name).text);
}

/// `x[N]` or `x[N][M]` after its type, or after another such name of its line.
void Parser::tensor_of_type(ast::TensorDecl& decl) {
  const uint32_t begin = peek().where.begin;
  std::string shape;
  while (accept("[")) {
    if (at("]")) { // `x[]`: as large as it is
      take();
      decl.is_bad = true;
      continue;
    }
    const uint32_t inside = peek().where.begin;
    for (ast::Expr& extent : list("]", false))
      decl.shape.push_back(std::move(extent));
    if (panic_)
      break;
    const std::string text = report_.source()->text.substr(inside, last_end_ - 1 - inside);
    shape += (shape.empty() ? "" : ", ") + text;
  }
  if (panic_) {
    decl.is_bad = true;
    return;
  }
  if (decl.is_bad && shape.empty())
    shape = "N";
  fail(code::kExpected, {decl.elem_where.begin, std::max(last_end_, begin)},
       fmt::format("the type stands before the name `{}`", decl.name), "",
       {{"it comes after the name",
         fmt::format("{}: {}{}", decl.name, decl.elem, shape.empty() ? "" : "[" + shape + "]")}});
  panic_ = false;
}

/// `double t = x[i]`: a `let`.
void Parser::typed_value(std::vector<ast::Statement>& out) {
  const Token type = take();
  ast::Statement s;
  s.kind = ast::StatementKind::Let;
  const Token name = take();
  s.name = name.text;
  s.name_where = name.where;
  accept("=");
  const uint32_t begin = peek().where.begin;
  s.value = expr();
  s.where = since(type.where.begin);
  fail(code::kNotAStatement, type.where, fmt::format("`{}` does not start a statement", type.text),
       "",
       {{"a value gets a name by",
         fmt::format("let {} = {}", name.text,
                     report_.source()->text.substr(begin, last_end_ - begin))}});
  panic_ = false;
  finish_line();
  out.push_back(std::move(s));
}

/// `(double)x`, which is nothing else in any program.
bool Parser::at_cast() const {
  if (!at("(") || elem_at(1).empty() || !peek(2).is(")"))
    return false;
  const Token& next = peek(3);
  return next.is("(") || next.kind == TokenKind::Integer || next.kind == TokenKind::Real ||
         (next.kind == TokenKind::Name && !is_reserved(next.text));
}

ast::Expr Parser::cast() {
  const uint32_t begin = take().where.begin;
  const std::string_view elem = elem_at(0);
  const Token type = take();
  take();
  const Span head = since(begin);
  ast::Expr arg = atom();
  if (panic_)
    return {};
  std::string text = report_.source()->text.substr(arg.where.begin, last_end_ - arg.where.begin);
  if (!text.starts_with('('))
    text = "(" + text + ")";
  fail(code::kExpected, head, fmt::format("there is no cast `({})`", type.text), "",
       {{"a type is called like a function", fmt::format("{}{}", elem, text)}});
  panic_ = false;
  std::vector<ast::Expr> args;
  args.push_back(std::move(arg));
  ast::Expr e = node(Kind::Call, begin, std::move(args));
  e.name = elem;
  e.name_where = type.where;
  return e;
}

} // namespace kawara::program
