#pragma once

#include "schedule/directive.h"

#include <string>

namespace kawara::schedule {

/// How a refusal's headline begins: "cannot interchange loops `t` and `i`".
std::string request_of(const Directive&);

/// What the change is called in a sentence: "interchange", "tiling".
std::string noun_of(const Directive&);

} // namespace kawara::schedule
