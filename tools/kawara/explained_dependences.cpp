#include "kawara/explained.h"

#include "poly/legality/shown_dependences.h"

namespace kawara::tools {

void add_dependences(const program::Program& program, explain::Report& report) {
  const auto scop = poly::scop_from_program(program, poly::make_context());
  if (!scop) {
    report.missing.push_back("dependences: " + scop.error().front().headline);
    return;
  }
  const poly::ShownDependences shown = poly::shown_dependences(*scop);
  report.dependences = poly::summaries(*scop, shown.all);
  report.has_exact_dependences = shown.is_exact;
}

} // namespace kawara::tools
