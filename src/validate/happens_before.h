#pragma once

#include "validate/runs.h"
#include "validate/validate.h"

namespace kawara::validate {

/// Instances that depend on each other run in the order of the dependence. False: what stands in
/// one run (copies that were taken together, and the lanes of each) would have to be told apart to
/// say so.
bool check_order(const poly::Scop&, const Runs&, Report&);

} // namespace kawara::validate
