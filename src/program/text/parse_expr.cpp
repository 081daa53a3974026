#include "program/text/parser.h"

#include <fmt/format.h>

namespace kawara::program {

using ast::Kind;
using scalar::BinaryOp;

// Precedence, loosest first:
//   a if c else b · or · and · not · == != < <= > >= (chained) · | · ^ · & · << >> · + - ·
//   * / // % · unary - + ~ · f(x) A[i] (x)

namespace {

std::optional<BinaryOp> comparison_op(const Token& t) {
  if (t.kind != TokenKind::Symbol)
    return std::nullopt;
  for (BinaryOp op :
       {BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne})
    if (t.text == scalar::name_of(op))
      return op;
  return std::nullopt;
}

std::optional<BinaryOp> product_op(const Token& t) {
  if (t.is("*"))
    return BinaryOp::Mul;
  if (t.is("/"))
    return BinaryOp::Div;
  if (t.is("//"))
    return BinaryOp::FloorDiv;
  if (t.is("%"))
    return BinaryOp::Mod;
  return std::nullopt;
}

/// Operators on bits by level, loosest first.
std::optional<BinaryOp> bits_op(const Token& t, int level) {
  if (level == 0 && t.is("|"))
    return BinaryOp::BitOr;
  if (level == 1 && t.is("^"))
    return BinaryOp::BitXor;
  if (level == 2 && t.is("&"))
    return BinaryOp::BitAnd;
  if (level == 3 && t.is("<<"))
    return BinaryOp::Shl;
  if (level == 3 && t.is(">>"))
    return BinaryOp::Shr;
  return std::nullopt;
}

constexpr int kBitsLevels = 4;

} // namespace

// Counts how deeply the parser calls itself; every recursive reader asks first.
bool Parser::enter(Span where) {
  if (nesting_ < kMaxNesting && !panic_)
    return true;
  fail(code::kTooDeep, where, fmt::format("expression is nested more than {} deep", kMaxNesting),
       "", {{"compute a part first", "in a temp"}});
  return false;
}

ast::Expr Parser::node(Kind kind, uint32_t begin, std::vector<ast::Expr> args) {
  ast::Expr e;
  for (const ast::Expr& arg : args)
    e.height = std::max(e.height, arg.height + 1);
  e.kind = kind;
  e.where = since(begin);
  e.args = std::move(args);
  if (e.height > kMaxHeight)
    fail(code::kTooDeep, e.where,
         fmt::format("expression has a chain of more than {} operations", kMaxHeight), "",
         {{"compute a part first", "in a temp"}});
  if (panic_)
    return {};
  return e;
}

ast::Expr Parser::binary(BinaryOp op, ast::Expr lhs, ast::Expr rhs) {
  std::vector<ast::Expr> args;
  const uint32_t begin = lhs.where.begin;
  args.push_back(std::move(lhs));
  args.push_back(std::move(rhs));
  ast::Expr e = node(Kind::Binary, begin, std::move(args));
  e.op = op;
  return e;
}

ast::Expr Parser::expr() {
  if (!enter(peek().where))
    return {};
  ++nesting_;
  const uint32_t begin = peek().where.begin;
  ast::Expr e = or_expr();
  if (accept("if")) {
    std::vector<ast::Expr> args(1);
    args.push_back(std::move(e));
    args[0] = or_expr();
    if (expect("else", "after the condition: a value needs both cases"))
      args.push_back(expr());
    e = node(Kind::Choice, begin, std::move(args));
  }
  --nesting_;
  return e;
}

ast::Expr Parser::or_expr() {
  ast::Expr e = and_expr();
  while (accept("or"))
    e = binary(BinaryOp::Or, std::move(e), and_expr());
  return e;
}

ast::Expr Parser::and_expr() {
  ast::Expr e = not_expr();
  while (accept("and"))
    e = binary(BinaryOp::And, std::move(e), not_expr());
  return e;
}

ast::Expr Parser::not_expr() {
  const uint32_t begin = peek().where.begin;
  if (!at("not"))
    return comparison();
  if (!enter(peek().where))
    return {};
  take();
  ++nesting_;
  std::vector<ast::Expr> args;
  args.push_back(not_expr());
  --nesting_;
  return node(Kind::Not, begin, std::move(args));
}

ast::Expr Parser::comparison() {
  const uint32_t begin = peek().where.begin;
  ast::Expr first = bits(0);
  if (panic_ || !comparison_op(peek()))
    return first;
  std::vector<ast::Expr> args;
  std::vector<BinaryOp> ops;
  args.push_back(std::move(first));
  while (const auto op = comparison_op(peek())) {
    take();
    ops.push_back(*op);
    args.push_back(bits(0));
    if (panic_)
      return {};
  }
  if (ops.size() > 16)
    fail(code::kTooLarge, since(begin), "more than 16 comparisons in one chain", "",
         {{"join them with", "and"}});
  ast::Expr e = node(Kind::Compare, begin, std::move(args));
  e.compares = std::move(ops);
  return e;
}

ast::Expr Parser::bits(int level) {
  const auto operand = [&] { return level + 1 < kBitsLevels ? bits(level + 1) : sum(); };
  ast::Expr e = operand();
  while (!panic_ && bits_op(peek(), level)) {
    const BinaryOp op = *bits_op(take(), level);
    e = binary(op, std::move(e), operand());
  }
  return e;
}

ast::Expr Parser::sum() {
  ast::Expr e = product();
  while (!panic_ && (at("+") || at("-"))) {
    const BinaryOp op = take().is("+") ? BinaryOp::Add : BinaryOp::Sub;
    e = binary(op, std::move(e), product());
  }
  return e;
}

ast::Expr Parser::product() {
  ast::Expr e = signed_expr();
  while (!panic_ && product_op(peek())) {
    const BinaryOp op = *product_op(take());
    e = binary(op, std::move(e), signed_expr());
  }
  return e;
}

ast::Expr Parser::signed_expr() {
  const uint32_t begin = peek().where.begin;
  if (!at("-") && !at("+") && !at("~"))
    return atom();
  if (!enter(peek().where))
    return {};
  const Token sign = take();
  const bool is_minus = sign.is("-");
  ++nesting_;
  ast::Expr arg = signed_expr();
  --nesting_;
  if (sign.is("~")) { // -1 - x has all bits of x flipped
    ast::Expr all = node(Kind::Integer, begin, {});
    all.integer = 1;
    std::vector<ast::Expr> one;
    one.push_back(std::move(all));
    ast::Expr e =
        binary(BinaryOp::BitXor, node(Kind::Negate, begin, std::move(one)), std::move(arg));
    e.where = since(begin);
    return e;
  }
  if (!is_minus)
    return arg;
  std::vector<ast::Expr> args;
  args.push_back(std::move(arg));
  return node(Kind::Negate, begin, std::move(args));
}

ast::Expr Parser::atom() {
  const Token& t = peek();
  const uint32_t begin = t.where.begin;
  if (panic_)
    return {};
  if (at(TokenKind::Integer) || at(TokenKind::Real)) {
    const Token number = take();
    ast::Expr e = node(number.kind == TokenKind::Integer ? Kind::Integer : Kind::Real, begin, {});
    e.integer = number.integer;
    e.real = number.real;
    return e;
  }
  if (at(TokenKind::Name))
    return name_or_call();
  if (at_cast())
    return cast();
  if (!accept("(")) {
    fail_expected("an expression");
    return {};
  }
  std::vector<ast::Expr> parts = list(")", true);
  if (panic_)
    return {};
  if (parts.size() == 1 && parts[0].kind != Kind::Binder) {
    ast::Expr e = std::move(parts[0]);
    e.where = since(begin);
    return e;
  }
  return node(Kind::Tuple, begin, std::move(parts));
}

ast::Expr Parser::name_or_call() {
  const Token name = peek();
  const bool is_call = peek(1).is("(");
  const bool is_word = name.is("true") || name.is("false") || name.is("inf") || name.is("nan");
  const bool is_function = is_call && (name.is("max") || name.is("min"));
  if (is_reserved(name.text) && !is_word && !is_function) {
    fail_expected("an expression");
    return {};
  }
  take();
  Kind kind = Kind::Name;
  std::vector<ast::Expr> args;
  if (accept("(")) {
    kind = Kind::Call;
    args = list(")", true);
  } else if (accept("[")) {
    kind = Kind::Index;
    args = list("]", false);
  }
  ast::Expr e = node(kind, name.where.begin, std::move(args));
  e.name = name.text;
  e.name_where = name.where;
  if (!panic_ && kind == Kind::Index && at("["))
    second_brackets(name.text, name.where.end);
  if (!panic_ && (at("[") || at("(")))
    fail_expected("an operator");
  return e;
}

/// `A[i][j]`, at the second bracket: the indices of a tensor stand in one pair.
void Parser::second_brackets(std::string_view name, uint32_t begin) {
  const Span where = peek().where;
  while (accept("["))
    list("]", false);
  if (panic_)
    return;
  std::string indices = report_.source()->text.substr(begin, last_end_ - begin);
  for (size_t at = indices.find("]"); at != std::string::npos && at + 1 < indices.size();
       at = indices.find("]", at + 2))
    if (const size_t next = indices.find_first_not_of(' ', at + 1); indices[next] == '[')
      indices.replace(at, next - at + 1, ", ");
  fail(code::kExpected, where, "expected an operator, found `[`", "",
       {{"all indices stand in one pair of brackets", fmt::format("{}{}", name, indices)}});
}

/// An argument of a call: an expression, or `k in range(3)` for a reduction.
ast::Expr Parser::argument() {
  const Token name = peek();
  if (name.kind != TokenKind::Name || !peek(1).is("in"))
    return expr();
  const Token index = expect_name("the name of an index");
  accept("in");
  std::vector<ast::Expr> args;
  if (expect("range", "after `in`") && expect("(", "after `range`"))
    args = list(")", false);
  ast::Expr e = node(Kind::Binder, name.where.begin, std::move(args));
  e.name = index.text;
  e.name_where = index.where;
  return e;
}

std::vector<ast::Expr> Parser::list(std::string_view close, bool binders) {
  std::vector<ast::Expr> items;
  if (accept(close))
    return items;
  do
    items.push_back(binders ? argument() : expr());
  while (accept(","));
  if (!panic_ && !accept(close))
    fail_expected(fmt::format("`,` or `{}`", close));
  return items;
}

} // namespace kawara::program
