#pragma once

#include "schedule/text/build.h"

namespace kawara::schedule {

/// `arrange(S0[0, i, 0, j], S1[0, i, 1])`
Result<Directive, WrongArguments> build_arrange(const std::vector<Argument>& arguments);

} // namespace kawara::schedule
