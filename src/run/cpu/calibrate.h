#pragma once

#include "estimate/machine.h"
#include "run/cpu/threads.h"

#include <memory>

namespace kawara::run {

/// Measures the machine in a few seconds, far less than a minute: for each type the fastest
/// multiply-add that it has an instruction for, for each cache and the memory four ways to go
/// through them, the time from one sum to the next and the time to start threads. With one thread,
/// then with all of the pool. Figures are those of the fastest sample: what the machine can do
/// undisturbed.
///
/// `seconds` is the most that one figure takes; there are some forty.
estimate::Machine calibrate(const target::Cpu&, const std::shared_ptr<ThreadPool>&,
                            double seconds = 0.12);

} // namespace kawara::run
