#pragma once

#include "driver/pipeline.h"
#include "explain/report.h"
#include "kawara/machines.h"

#include <span>

namespace kawara::tools {

/// Where and for what costs are predicted.
struct Prices {
  const schedule::Environment& environment;
  const Figures& figures; ///< of a processor
  std::span<const int64_t> sizes;
};

/// What is predicted of the text's order and after each directive that changes it, without the
/// last: that is the schedule. Empty where the steps have no directives, or too many.
std::vector<explain::Step> way_of(const driver::Scheduled&,
                                  const std::vector<std::string>& directives, const Prices&);

} // namespace kawara::tools
