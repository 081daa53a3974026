#include "program/text/assumption_place.h"

#include "program/text/lex.h"
#include "program/text/parser.h"

namespace kawara::program {

Span assumption_place(const Program& program, size_t index) {
  if (!program.source)
    return {};
  Report report(program.source);
  const ast::File file = Parser(lex(report), report).parse_file();
  return index < file.assumptions.size() ? file.assumptions[index].where : Span{};
}

} // namespace kawara::program
