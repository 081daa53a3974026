#pragma once

#include "kernel/kernel.h"
#include "target/cpu.h"

namespace kawara::kernel {

/// Keeps the elements of packed buffers several times side by side where instructions take one of
/// them into all lanes and the processor's loads do that for larger elements alone
/// (target::least_broadcast): what is loaded is then a group of equal elements.
///
///   before   workspace A_packed: f16[57, 128, 6]
///            A_packed[i_0, k, i] = f32(A[6*i_0 + i, k])
///            ... avx512.fmadd_f16(broadcast(A_packed[i_0, k, i], 32), ...)
///   after    workspace A_packed: f16[57, 128, 12]
///            A_packed[i_0, k, 2*i] = f32(A[6*i_0 + i, k])
///            A_packed[i_0, k, 2*i + 1] = f32(A[6*i_0 + i, k])
///            ... avx512.fmadd_f16(broadcast(A_packed[i_0, k, ramp(2*i, 1, 2)], 32), ...)
///
/// Left alone is a buffer of which something reads a vector of different elements.
Kernel duplicate_elements(Kernel, const target::Cpu&);

} // namespace kawara::kernel
