#pragma once

#include "program/errors.h"
#include "program/text/token.h"

namespace kawara::program {

/// The words of a `.kw` text. Indentation becomes Indent and Dedent, line ends become Newline
/// except inside brackets; comments and blank lines vanish. The last token is End, after a Newline
/// and the open Dedents.
Tokens lex(Report&);

} // namespace kawara::program
