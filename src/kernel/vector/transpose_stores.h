#pragma once

#include "kernel/kernel.h"

namespace kawara::kernel {

/// What follows a register tile whose lanes lie across the rows of a result: along those rows
/// instead.
///
///   before   private T_tile: f32[14, 32]:
///              ...
///              for i in range(0, 32):  # unroll(16)
///                for j in range(0, 14):  # vector(14)
///                  T[i, j] = T_tile[j, i]
///            for j in range(0, 14):  # unroll
///              for i in range(0, 32):  # vector(16)
///                Y[32*i_0 + i, 14*j_0 + j] = max(T[i, j] + B[32*i_0 + i], 0)
///   after    private T_tile: f32[14, 32]:
///              ...
///              for i in range(0, 32):  # unroll(16)
///                for j in range(0, 14):  # vector(14)
///                  Y[32*i_0 + i, 14*j_0 + j] = max(T_tile[j, i] + B[32*i_0 + i], 0)
///
/// A nest is transposed where its store is strided along its lanes and a run along the loop around
/// them, of known length, and reads nothing that it stores. T goes where only tiles fill it, boxes
/// of it, and only the statements after each of them in the same block read it, elements of that
/// box.
Kernel transpose_stores(Kernel);

} // namespace kawara::kernel
