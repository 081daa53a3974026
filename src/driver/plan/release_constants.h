#pragma once

#include "driver/plan/plan.h"

namespace kawara::driver {

/// For each step of a plan the graph's constants whose elements nothing reads any more once the
/// step has run for the first time: kernels have prepared what they need of them, and no other
/// step, no node of another plan and no result of the graph wants them.
std::vector<std::vector<Tensor>> used_up_by_steps(const graph::Graph&, const Plan&);

/// Gives the memory of the elements back to the system. The tensor stays where it is; its elements
/// are lost.
void release(Tensor);

} // namespace kawara::driver
