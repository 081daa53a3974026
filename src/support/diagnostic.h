#pragma once

#include "support/result.h"
#include "support/source.h"

#include <string>
#include <vector>

namespace kawara {

enum class Severity : uint8_t { Error, Warning };

/// A way out that is offered with a diagnostic, in the syntax the user would type.
struct Help {
  std::string intro; ///< "skew first", "or block only space"; may be empty
  std::string text;  ///< "skew(i, by=t, factor=1); interchange(t, i)"
  bool checked_legal = false;
};

/// What was asked, where, why it cannot be, what to do instead. One renderer for all of them.
///
/// `headline` starts in lower case, has no final period, names things in backquotes as the user
/// wrote them. `body` holds paragraphs (one string each, may contain newlines).
struct Diagnostic {
  std::string code; ///< stable: K01xx text, K02xx schedule, K03xx target limits, K04xx run
  Severity severity = Severity::Error;
  std::string headline;
  SourcePtr source;  ///< may be null: then no excerpt is shown
  Span where;        ///< what the caret underlines
  std::string label; ///< said beside the caret; may be empty
  std::vector<std::string> body;
  std::vector<Help> help;
};
using Diagnostics = std::vector<Diagnostic>;

/// Result of the front ends: several errors may be reported at once.
template <class T> using Parsed = Result<T, Diagnostics>;

/// One diagnostic as text, in the form of docs/errors/README.md; ends with a newline.
std::string render(const Diagnostic&);
std::string render(const Diagnostics&);

/// One diagnostic as a JSON object (code, severity, message, file, line, column, body, help).
std::string render_json(const Diagnostic&);

} // namespace kawara
