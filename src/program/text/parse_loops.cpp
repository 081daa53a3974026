#include "program/text/parser.h"

#include <fmt/format.h>

namespace kawara::program {

using ast::StatementKind;

void Parser::statement(std::vector<ast::Statement>& out) {
  line_begin_ = pos_;
  if (at(TokenKind::Indent))
    stray_block(out);
  else if (at("for"))
    out.push_back(for_loop());
  else if (at("if"))
    out.push_back(if_else());
  else if (at("let"))
    out.push_back(let());
  else if (at(TokenKind::Name) && !is_reserved(peek().text))
    assignment(out);
  else
    stray_statement();
}

// Lines indented without a header are read as if they stood one level further out.
void Parser::stray_block(std::vector<ast::Statement>& out) {
  fail(code::kIndentation, peek().where, "this line is indented, but no block was opened", "",
       {{"", "remove the indentation, or open a block with `for` or `if`"}});
  panic_ = false;
  if (blocks_ >= kMaxBlocks)
    return skip_block();
  ++blocks_;
  take();
  while (!at(TokenKind::Dedent) && !at(TokenKind::End))
    statement(out);
  if (at(TokenKind::Dedent))
    take();
  --blocks_;
}

void Parser::stray_statement() {
  const Token t = peek();
  if (t.is("else") || t.is("elif"))
    fail(code::kLoneElse, t.where, fmt::format("`{}` has no `if` before it", t.text), "",
         {{"", "indent it like the `if` it belongs to"}});
  else if (t.is("return"))
    fail(code::kFunctionBody, t.where, "`return` stands outside a function", "",
         {{"functions are written", "def f(x): x * x"}});
  else if (t.kind == TokenKind::Name && starts_line(t.text))
    fail(code::kNestedDeclaration, t.where, fmt::format("`{}` cannot stand inside a block", t.text),
         "", {{"", "move the line to the top of the file, without indentation"}});
  else
    fail_expected("a statement such as `for`, `if` or `C[i] = ...`");
  panic_ = true;
  skip_line();
  skip_block();
}

/// The block under a header: indented lines, or one statement on the header's line.
std::vector<ast::Statement> Parser::block(Span header) {
  std::vector<ast::Statement> body;
  if (blocks_ >= kMaxBlocks) {
    fail(code::kTooDeep, header, fmt::format("blocks are nested more than {} deep", kMaxBlocks), "",
         {{"", "split the program"}});
    skip_line();
    skip_block();
    return body;
  }
  ++blocks_;
  const bool is_header_bad = panic_;
  const bool one_line = !panic_ && !at(TokenKind::Newline) && !at(TokenKind::End);
  if (one_line) {
    statement(body);
  } else {
    skip_line();
    if (at(TokenKind::Indent)) {
      take();
      while (!at(TokenKind::Dedent) && !at(TokenKind::End)) {
        if (at(TokenKind::Newline))
          take();
        else
          statement(body);
      }
      if (at(TokenKind::Dedent))
        take();
    } else if (!is_header_bad) {
      fail(code::kEmptyBlock, header, "this block has no statement", "",
           {{"", "indent its statements by four spaces"}});
      panic_ = false;
    }
  }
  --blocks_;
  line_begin_ = pos_;
  return body;
}

void Parser::colon(Span header) {
  if (panic_ || accept(":"))
    return;
  const bool at_end = at(TokenKind::Newline) || at(TokenKind::End);
  if (!at_end)
    return fail_expected("`:`");
  fail(code::kMissingColon, header, "`:` is missing at the end of this line", "",
       {{"", fmt::format("{}:",
                         report_.source()->text.substr(header.begin, header.end - header.begin))}});
  // What follows is the block: the mistake has no other consequence.
  panic_ = false;
}

ast::Statement Parser::for_loop() {
  ast::Statement loop;
  loop.kind = StatementKind::For;
  const uint32_t begin = take().where.begin;
  const Token name = expect_name("the name of a loop");
  loop.name = name.text;
  loop.name_where = name.where;
  if (panic_) {
    skip_line();
    skip_block();
    return loop;
  }
  expect("in", "after the loop's name");
  if (!panic_ && !(at("range") && peek(1).is("(")))
    fail(code::kRange, peek().where, "a loop runs over a `range`", "",
         {{"write, for example", fmt::format("for {} in range(N):", name.text)}});
  const uint32_t range_begin = peek().where.begin;
  if (accept("range") && accept("(")) {
    std::vector<ast::Expr> args = list(")", false);
    loop.range = node(ast::Kind::Call, range_begin, std::move(args));
  }
  colon(since(begin));
  loop.where = since(begin);
  loop.body = block(loop.where);
  return loop;
}

ast::Statement Parser::if_else() {
  ast::Statement branch;
  branch.kind = StatementKind::If;
  const uint32_t begin = take().where.begin;
  branch.cond = expr();
  colon(since(begin));
  branch.where = since(begin);
  branch.body = block(branch.where);
  if (at("elif")) {
    // The depth grows with each `elif`, as it would were they written as nested blocks.
    if (blocks_ >= kMaxBlocks) {
      fail(code::kTooDeep, peek().where, fmt::format("more than {} `elif` in a row", kMaxBlocks));
      skip_line();
      skip_block();
      return branch;
    }
    ++blocks_;
    branch.otherwise.push_back(if_else());
    --blocks_;
  } else if (at("else")) {
    const Token word = take();
    colon(word.where);
    branch.otherwise = block(word.where);
  }
  return branch;
}

/// `let name = value`: Bad values stay in the statement, so that the name is known.
ast::Statement Parser::let() {
  ast::Statement s;
  s.kind = StatementKind::Let;
  const uint32_t begin = take().where.begin;
  const Token name = expect_name("the name of a value");
  s.name = name.text;
  s.name_where = name.where;
  if (expect("=", "after the name"))
    s.value = expr();
  s.where = since(begin);
  finish_line();
  return s;
}

bool Parser::assign_op(ast::Statement& s) {
  const Token op = peek();
  s.is_minus = op.is("-=");
  if (op.is("="))
    s.op = ReduceOp::None;
  else if (op.is("+=") || op.is("-="))
    s.op = ReduceOp::Sum;
  else if (op.is("*="))
    s.op = ReduceOp::Prod;
  else if (op.is("max="))
    s.op = ReduceOp::Max;
  else if (op.is("min="))
    s.op = ReduceOp::Min;
  else
    return false;
  take();
  return true;
}

void Parser::not_a_statement(const Token& first) {
  size_t close = 1;
  while (peek(1).is("(") && !peek(close).is(")") && peek(close).kind != TokenKind::Newline &&
         peek(close).kind != TokenKind::End)
    ++close;
  Help help{"statements are",
            "for i in range(N):, if cond:, let x = value, C[i] = value, C[i] += value"};
  if (peek(close).is(")") && peek(close + 1).is("=")) { // `C(i, j) = ...`, as in Halide
    const uint32_t begin = peek(1).where.end;
    help = {"elements of a tensor are written",
            fmt::format("{}[{}]", first.text,
                        report_.source()->text.substr(begin, peek(close).where.begin - begin))};
  }
  if (at_typed_name())
    help = {"a tensor is declared", fmt::format("temp {}: {}[N]", peek(1).text, elem_at(0))};
  fail(code::kNotAStatement, first.where,
       fmt::format("`{}` does not start a statement", first.text), "", {help});
  skip_line();
  skip_block();
}

/// `A[i] /= x`, at the operator: the help has the user's own words.
void Parser::no_quotient_update(const ast::Expr& target) {
  const Token op = take();
  const ast::Expr divisor = expr();
  if (panic_)
    return;
  const auto written = [&](const ast::Expr& e) {
    return report_.source()->text.substr(e.where.begin, e.where.end - e.where.begin);
  };
  const bool is_compound = divisor.kind == ast::Kind::Binary || divisor.kind == ast::Kind::Choice ||
                           divisor.kind == ast::Kind::Compare;
  std::string by = written(divisor);
  int open = 0; // brackets; the first one may be closed before the end: (a + b) * c
  size_t end = 0;
  do
    open += by[end] == '(' ? 1 : by[end] == ')' ? -1 : 0;
  while (open > 0 && ++end < by.size());
  if (is_compound && end + 1 < by.size())
    by = "(" + by + ")";
  fail(code::kExpected, op.where, "there is no `/=`", "",
       {{"write", fmt::format("{0} = {0} / {1}", written(target), by)}});
}

/// `A[i]++` or `A[i]--`, at the operator.
void Parser::no_counting(const ast::Expr& target) {
  const Token op = peek();
  const auto& text = report_.source()->text;
  fail(
      code::kExpected, {op.where.begin, peek(1).where.end},
      fmt::format("there is no `{0}{0}`", op.text), "",
      {{"write", fmt::format("{} {}= 1",
                             text.substr(target.where.begin, target.where.end - target.where.begin),
                             op.text)}});
}

void Parser::assignment(std::vector<ast::Statement>& out) {
  ast::Statement s;
  const Token first = peek();
  const bool is_plain_word = peek(1).kind == TokenKind::Name || peek(1).is(":") ||
                             peek(1).kind == TokenKind::Newline || peek(1).is("(");
  if (first.is("while") || first.is("break") || first.is("continue")) {
    fail(code::kWhile, first.where,
         fmt::format("`{}`: how often a loop runs cannot depend on data", first.text), "",
         {{"run to a bound and keep what is done",
           "for t in range(MAX_STEPS): x[i] = step if x[i] < limit else x[i]"}});
    skip_line();
    skip_block();
    return;
  }
  if (at_typed_name() && peek(2).is("="))
    return typed_value(out);
  if (is_plain_word)
    return not_a_statement(first);
  s.target = name_or_call();
  const Token op = peek();
  if (!panic_ && !assign_op(s)) {
    if (op.is("/="))
      no_quotient_update(s.target);
    else if ((op.is("+") || op.is("-")) && peek(1).is(op.text))
      no_counting(s.target);
    else
      fail_expected("`=`, `+=`, `-=`, `*=`, `max=` or `min=`");
  }
  s.value = expr();
  s.where = since(first.where.begin);
  const bool is_whole = !panic_ && !is_line_bad();
  finish_line();
  if (is_whole)
    out.push_back(std::move(s));
}

} // namespace kawara::program
