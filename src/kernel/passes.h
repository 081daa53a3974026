#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"
#include "target/gpu.h"

#include <functional>
#include <string_view>

namespace kawara::kernel {

/// Called with the kernel after each pass.
using PassObserver = std::function<void(std::string_view pass, const Kernel&)>;

/// How passes are run.
struct PassOptions {
  PassObserver observer = {};
  /// Functions stay calls (expand_math.h): that pass alone computes something that equals the
  /// program's value only nearly. All others keep the laws of algebra, so that a kernel without it
  /// can be compared to its program over a finite ring.
  bool keeps_functions = false;
  /// Replaces the kernel after each pass, before the observer sees it. For tests that put faults
  /// in.
  std::function<Kernel(std::string_view pass, Kernel)> change = {};
};

/// The kernel with every mark applied, ready for an emitter: loops joined, full tiles separated,
/// unrolled, vectorised, accumulators in variables, updates and addresses spelled out, divisions
/// narrow.
Kernel optimise(Kernel, const target::Cpu&, const PassObserver& = {});
Kernel optimise(Kernel, const target::Cpu&, const PassOptions&);

/// The same for a GPU: launches, in each of which every mark is applied.
Kernel optimise_for_gpu(Kernel, const PassObserver& = {});
/// ... with the instructions of this GPU.
Kernel optimise_for_gpu(Kernel, const target::Gpu&, const PassObserver& = {});
Kernel optimise_for_gpu(Kernel, const target::Gpu&, const PassOptions&);

/// The same for emitters of text that a compiler vectorises: vector marks stay on scalar loops, and
/// what loops leave alone is computed before them, where people read it.
Kernel optimise_for_text(Kernel, const PassObserver& = {});

} // namespace kawara::kernel
