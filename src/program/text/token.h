#pragma once

#include "support/source.h"

#include <string_view>
#include <vector>

namespace kawara::program {

/// `Bad` stands where the lexer reported an error: the parser stays silent about its line.
enum class TokenKind : uint8_t { Name, Integer, Real, Symbol, Newline, Indent, Dedent, Bad, End };

/// `text` points into the source. Keywords are names.
struct Token {
  TokenKind kind = TokenKind::End;
  Span where;
  std::string_view text;
  uint64_t integer = 0; ///< at most 2^63, so that the smallest i64 can be written
  double real = 0;

  bool is(std::string_view t) const {
    return (kind == TokenKind::Name || kind == TokenKind::Symbol) && text == t;
  }
};
using Tokens = std::vector<Token>;

/// Words that cannot name anything.
bool is_reserved(std::string_view);
/// Words that start a line and occur nowhere else.
bool starts_line(std::string_view);

} // namespace kawara::program
