#pragma once

#include "estimate/roofline.h"
#include "graph/rewrite/extract.h"

namespace kawara::estimate {

/// What a node costs in a graph that is rewritten: seconds under the roof, max of arithmetic and
/// memory, plus what it takes to begin a node. Views (Reshape) cost nothing; symbols in shapes
/// count as `symbol`. A constant operand is read like any other. Nodes of unknown type cost the
/// same wherever they stand.
rewrite::Cost operator_cost(const Roof&, double seconds_per_node = 2e-6, int64_t symbol = 64);

/// The same for graphs whose element-wise nodes run inside the kernels of their neighbours: these
/// cost their arithmetic and what they read besides the value that is at hand.
rewrite::Cost fused_cost(const Roof&, double seconds_per_kernel = 2e-6, int64_t symbol = 64);

/// Floating-point operations of one application, by the formula of its operator.
double flops_of(const rewrite::Application&, int64_t symbol);

} // namespace kawara::estimate
