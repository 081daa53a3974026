#pragma once

#include "tune/measure/task_bench.h"

namespace kawara::tune {

/// Candidates of a task for a GPU, compiled and run on the one in this machine, timed by its own
/// clock. What needs more shared memory than a block has is refused before it is compiled.
///
/// A candidate that upsets the device ends the process: nothing can be measured in it any more.
///
/// Refuses  a machine without driver, GPU or NVRTC (K0710 to K0713), and a default schedule whose
///          results differ from the interpreter's (K0436).
Parsed<std::unique_ptr<Bench>> cuda_bench_of(const std::shared_ptr<const Reference>&);

} // namespace kawara::tune
