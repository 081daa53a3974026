#pragma once

#include "support/diagnostic.h"

#include <string>

namespace kawara::tools {

/// A net of the zoo from its graph to its time per image, in sentences: how many kernels its nodes
/// became, how long that took, what a call takes and where the time goes.
Result<std::string, Diagnostic> net_from_graph_to_time(const std::string& name);

} // namespace kawara::tools
