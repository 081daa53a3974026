#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"
#include "target/gpu.h"

#include <functional>
#include <string_view>

namespace kawara::kernel {

/// Called with the kernel after each pass.
using PassObserver = std::function<void(std::string_view pass, const Kernel&)>;

/// The kernel with every mark carried out, ready for an emitter: loops joined, full tiles separated,
/// unrolled, vectorised, accumulators in variables, updates and addresses spelled out, divisions narrow.
Kernel optimise(Kernel, const target::Cpu&, const PassObserver& = {});

/// The same for a GPU: launches, in each of which every mark is carried out.
Kernel optimise_for_gpu(Kernel, const PassObserver& = {});
/// ... with the instructions of this GPU.
Kernel optimise_for_gpu(Kernel, const target::Gpu&, const PassObserver& = {});

/// The same for emitters of text that a compiler vectorises: vector marks stay on scalar loops, and
/// what loops leave alone is computed before them, where people read it.
Kernel optimise_for_text(Kernel, const PassObserver& = {});

} // namespace kawara::kernel
