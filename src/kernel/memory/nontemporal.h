#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"

namespace kawara::kernel {

/// Marks results that are stored non-temporally (Buffer::is_streamed): outputs of a fixed size that
/// no cache of the machine keeps until somebody reads them, which the kernel never reads, and of
/// which every store writes whole cache lines, counted from the start of the buffer.
///
/// On x86, loops that compute much for each such line ask for their operands ahead.
///
/// An ordinary store first reads the line that it is about to replace; non-temporally it does not,
/// and what is there stays.
Kernel nontemporal(Kernel, const target::Cpu&);

} // namespace kawara::kernel
