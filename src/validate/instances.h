#pragma once

#include "validate/runs.h"
#include "validate/validate.h"

namespace kawara::validate {

/// Every instance of every statement that could be read runs once, whatever conditions on data say.
void check_instances(const poly::Scop&, const Runs&, Report&);

} // namespace kawara::validate
