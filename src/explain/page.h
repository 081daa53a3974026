#pragma once

#include "explain/report.h"

#include <string>

namespace kawara::explain {

/// The report as one HTML document that needs nothing else and makes no request (page_frame.h). Its
/// tables are there without scripts, too. The same report gives the same bytes.
std::string page(const Report&);
std::string page(const ModelReport&);
/// Two reports beside each other; either may be of a program or of a model.
std::string page(const AnyReport&, const AnyReport&);

} // namespace kawara::explain
