#pragma once

#include "driver/plan/plan.h"

namespace kawara::driver {

bool is_control_flow(const graph::Node&); ///< If, Loop, Scan, SequenceMap
std::vector<std::string> control_flow_names();

/// Result of a run-time function; a refusal becomes the node's error (K0511).
Result<std::vector<Datum>, Diagnostic> call_function(const graph::Graph&, const graph::Node&,
                                                     std::vector<Datum> inputs);

/// Runs a subgraph of a node: its inputs in order; captured values are supplied by the runner.
using RunGraph = std::function<Result<std::vector<Datum>, Diagnostic>(const graph::GraphPtr&,
                                                                      std::vector<Datum>)>;

/// Results of a node with subgraphs.
Result<std::vector<Datum>, Diagnostic> run_control_flow(const graph::Graph&, const graph::Node&,
                                                        std::vector<Datum> inputs, const RunGraph&);

} // namespace kawara::driver
