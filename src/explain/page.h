#pragma once

#include "explain/report.h"

#include <string>

namespace kawara::explain {

/// Text in which HTML sees no markup; what is not UTF-8 or a control character becomes `?`.
std::string html_text(const std::string& text);

/// The report as one HTML document that needs nothing else: no script, no request (its policy
/// forbids both), colours for light and dark. The same report gives the same bytes.
std::string page(const Report&);
std::string page(const ModelReport&);

} // namespace kawara::explain
