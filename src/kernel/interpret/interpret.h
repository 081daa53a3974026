#pragma once

#include "kernel/analysis/extents.h"
#include "kernel/kernel.h"
#include "scalar/algebra.h"
#include "support/result.h"

#include <optional>

namespace kawara::kernel {

/// Elements of one buffer, row-major, each as its element type stores it.
using Elements = std::vector<scalar::Value>;

struct InterpretOptions {
  /// Order in which the iterations of parallel loops run: shuffled by this seed; empty: as written.
  std::optional<uint64_t> seed;
  /// Statements that may run before the kernel is taken to hang.
  uint64_t step_limit = 200'000'000;
  /// What data are; inputs are given accordingly.
  const scalar::Algebra* algebra = &scalar::numbers();
  /// Where to note which statements ran, in the order of `visit`; of the kernel with its windows
  /// spelled out (window_loads.h).
  std::vector<bool>* ran = nullptr;
};

/// The error of a kernel that ran more statements than it may.
inline constexpr const char* kStepLimitReached = "the step limit was reached";

/// Executes a kernel, slowly and with every check: bounds, reads of elements that nobody has
/// written (of outputs, workspaces and private buffers), integer division by zero, and races. A
/// race is two iterations of one parallel loop, two blocks of a launch, or two threads of a block
/// with no barrier between, that touch the same element, one of them writing. Threads must agree on
/// every loop and condition that has a barrier inside. Nobody may touch an element to which an
/// asynchronous copy is under way: until the thread that began it has waited for it.
///
/// `arguments` holds one entry per buffer with scope Argument, in buffer order; inputs and inouts
/// carry their values, all are filled with the results. The error says what went wrong where.
Result<Done, std::string> interpret(const Kernel&, const std::vector<int64_t>& params,
                                    std::vector<Elements>& arguments, const InterpretOptions& = {});

} // namespace kawara::kernel
