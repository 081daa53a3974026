#include "program/program.h"
#include "program/text/lex.h"
#include "program/text/parser.h"
#include "program/text/resolver.h"

namespace kawara::program {

Parsed<Program> parse(SourcePtr source) {
  Report report(std::move(source));
  const ast::File file = Parser(lex(report), report).parse_file();
  Program program = Resolver(file, report).run();
  if (report.has_errors())
    return fail(std::move(report).finish());
  number_statements(program);
  return program;
}

} // namespace kawara::program
