#pragma once

#include "oracle/sketch.h"
#include "schedule/directive.h"

#include <functional>
#include <vector>

namespace kawara::oracle {

/// A program and the directives asked of it.
struct Case {
  Sketch sketch;
  std::vector<schedule::Directive> directives;
};

/// The smallest case found by leaving out directives, statements, loops and reads and by making
/// sizes smaller, one at a time, as long as `still_fails` says so.
Case shrunk(Case, const std::function<bool(const Case&)>& still_fails);

} // namespace kawara::oracle
