#include "program/text/parser.h"

#include <fmt/format.h>

namespace kawara::program {

const Token& Parser::peek(size_t ahead) const {
  return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
}

Token Parser::take() {
  const Token token = peek();
  if (token.kind != TokenKind::End)
    ++pos_;
  last_end_ = token.where.end;
  return token;
}

bool Parser::accept(std::string_view text) {
  if (panic_ || !at(text))
    return false;
  take();
  return true;
}

bool Parser::expect(std::string_view text, const char* purpose) {
  if (accept(text))
    return true;
  fail_expected(fmt::format("`{}` {}", text, purpose));
  return false;
}

Token Parser::expect_name(const char* purpose) {
  if (!panic_ && at(TokenKind::Name)) {
    if (!is_reserved(peek().text))
      return take();
    refused_names_.insert(peek().text);
    fail(code::kReserved, peek().where, fmt::format("`{}` is a reserved word", peek().text),
         fmt::format("cannot be {}", purpose),
         {{"choose another name, for example", std::string(peek().text) + "_"}});
  } else {
    fail_expected(purpose);
  }
  return {};
}

// Lines on which the lexer stumbled are not complained about a second time.
bool Parser::is_line_bad() const {
  for (size_t i = line_begin_; i < tokens_.size(); ++i) {
    if (tokens_[i].kind == TokenKind::Bad)
      return true;
    if (tokens_[i].kind == TokenKind::Newline && i >= pos_)
      break;
  }
  return false;
}

void Parser::fail(const char* code, Span where, std::string headline, std::string label,
                  std::vector<Help> help) {
  if (panic_)
    return;
  panic_ = true;
  if (!is_line_bad())
    report_.error(code, where, std::move(headline), std::move(label), std::move(help));
}

// `x[1:3]`: a colon between brackets.
bool Parser::is_slice() const {
  int open = 0;
  for (size_t i = line_begin_; i < pos_; ++i)
    open += tokens_[i].is("[") ? 1 : tokens_[i].is("]") ? -1 : 0;
  return at(":") && open > 0;
}

/// Before the `in` of a loop.
bool Parser::is_loop_head() const {
  return pos_ == line_begin_ + 2 && tokens_[line_begin_].is("for");
}

void Parser::fail_expected(const std::string& what) {
  const Token& seen = peek();
  if (refused_names_.count(seen.text)) { // uses of a name that was refused where it was declared
    panic_ = true;
    return;
  }
  Span where = seen.where;
  std::string found = fmt::format("`{}`", seen.text);
  if (seen.kind == TokenKind::Newline || seen.kind == TokenKind::End) {
    found = "the end of the line";
    where = {last_end_, last_end_ + 1};
  } else if (seen.kind == TokenKind::Indent || seen.kind == TokenKind::Dedent) {
    found = "a change of the indentation";
  }
  std::vector<Help> help;
  if (seen.is("**"))
    help.push_back({"powers are written", "pow(x, 2)"});
  if (seen.is("//"))
    help.push_back({"a comment begins with", "#"});
  if (seen.is("=") && is_loop_head())
    help.push_back({"a loop is written", "for i in range(N):"});
  else if (seen.is("="))
    help.push_back({"equality is written", "=="});
  if (seen.is("[") && pos_ > line_begin_ && tokens_[pos_ - 1].is("]"))
    help.push_back({"all dimensions stand between two brackets", "[N, M]"});
  if (is_slice())
    help.push_back(
        {"there are no slices; a loop runs over a part", "for i in range(1, 3): y[i] = x[i]"});
  fail(code::kExpected, where, fmt::format("expected {}, found {}", what, found), "", help);
}

void Parser::finish_line() {
  if (!panic_ && !at(TokenKind::Newline) && !at(TokenKind::End))
    fail_expected("the end of the line");
  skip_line();
}

void Parser::skip_line() {
  while (!at(TokenKind::Newline) && !at(TokenKind::End))
    take();
  if (at(TokenKind::Newline))
    take();
  panic_ = false;
  line_begin_ = pos_;
}

void Parser::skip_block() {
  if (!at(TokenKind::Indent))
    return;
  size_t depth = 0;
  do {
    const TokenKind kind = take().kind;
    depth += kind == TokenKind::Indent ? 1 : 0;
    depth -= kind == TokenKind::Dedent ? 1 : 0;
  } while (depth > 0 && !at(TokenKind::End));
  line_begin_ = pos_;
}

// An indented line outside all blocks; its Dedent is dropped by `parse_file`.
void Parser::stray_indent() {
  fail(code::kIndentation, peek().where, "this line is indented, but no block was opened", "",
       {{"", "remove the indentation, or open a block with `for` or `if`"}});
  panic_ = false;
  take();
}

ast::File Parser::parse_file() {
  ast::File file;
  while (!at(TokenKind::End)) {
    line_begin_ = pos_;
    if (at(TokenKind::Newline) || at(TokenKind::Dedent))
      take();
    else if (at(TokenKind::Indent))
      stray_indent();
    else if (!declaration(file))
      statement(file.body);
  }
  return file;
}

} // namespace kawara::program
