#pragma once

#include "schedule/directive.h"

#include <string>

namespace kawara::schedule {

/// How a refusal's headline begins: "cannot interchange loops `t` and `i`"; with the statements
/// whose iterations are the reason, in the order source and sink: "cannot run loop `i` of statement
/// S0 in parallel".
std::string request_of(const Directive&);
std::string request_of(const Directive&, const std::string& source, const std::string& sink);

/// What the change is called in a sentence: "interchange", "tiling".
std::string noun_of(const Directive&);

} // namespace kawara::schedule
