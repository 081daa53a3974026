#include "schedule/text/lex.h"

namespace kawara::schedule {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

size_t end_of_word(std::string_view text, size_t at) {
  while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.'))
    ++at;
  return at;
}

/// Blocks of a dimension and places in them belong to its name: `d1/16`, `d1%16`.
size_t end_of_part(std::string_view text, size_t at) {
  if (at + 1 >= text.size() || (text[at] != '/' && text[at] != '%') || !is_digit(text[at + 1]))
    return at;
  ++at;
  while (at < text.size() && is_digit(text[at]))
    ++at;
  return at;
}

size_t end_of_number(std::string_view text, size_t at) {
  ++at;
  while (at < text.size() && is_digit(text[at]))
    ++at;
  return at;
}

/// A character that means nothing here, with all its bytes.
size_t end_of_bad(std::string_view text, size_t at) {
  ++at;
  while (at < text.size() && is_continuation(text[at]))
    ++at;
  return at;
}

TokenKind kind_of_mark(char c) {
  switch (c) {
  case '(':
    return TokenKind::Open;
  case ')':
    return TokenKind::Close;
  case '[':
    return TokenKind::OpenGroup;
  case ']':
    return TokenKind::CloseGroup;
  case ',':
    return TokenKind::Comma;
  case '=':
    return TokenKind::Equals;
  case ';':
  case '\n':
    return TokenKind::Separator;
  default:
    return TokenKind::Bad;
  }
}

} // namespace

std::vector<Token> lex(const Source& source) {
  const std::string_view text = source.text;
  std::vector<Token> tokens;
  const auto add = [&](TokenKind kind, size_t begin, size_t end) {
    tokens.push_back({kind,
                      text.substr(begin, end - begin),
                      {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}});
    return end;
  };
  size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const bool is_signed = (c == '-' || c == '+') && at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_blank(c))
      ++at;
    else if (c == '#')
      while (at < text.size() && text[at] != '\n')
        ++at;
    else if (is_letter(c))
      at = add(TokenKind::Word, at, end_of_part(text, end_of_word(text, at)));
    else if (is_digit(c) || is_signed)
      at = add(TokenKind::Number, at, end_of_number(text, at));
    else if (kind_of_mark(c) != TokenKind::Bad)
      at = add(kind_of_mark(c), at, at + 1);
    else
      at = add(TokenKind::Bad, at, end_of_bad(text, at));
  }
  add(TokenKind::End, at, at);
  return tokens;
}

} // namespace kawara::schedule
