#pragma once

#include "support/diagnostic.h"

#include <string_view>
#include <vector>

namespace kawara::schedule {

/// Pieces of directive text. A word is a name with its dots (`S1.i.0`) or its blocks (`d1/16`,
/// `d1%16`); a separator is `;` or a line end; blanks and `#` comments are left out. Any byte that
/// starts nothing is Bad.
enum class TokenKind : uint8_t {
  Word,
  Number,
  Open,
  Close,
  OpenGroup,
  CloseGroup,
  Comma,
  Equals,
  Separator,
  Bad,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text; ///< points into the source
  Span where;
};

/// All tokens of the text, the last one End.
std::vector<Token> lex(const Source&);

} // namespace kawara::schedule
