#pragma once

#include "kernel/kernel.h"

#include <string>

namespace kawara::emit {

struct COptions {
  /// The loops as they are, no passes: what a C programmer would write first.
  bool is_naive = false;
  /// Name of the function; empty: the kernel's.
  std::string function;
};

/// C11 text that can be dropped into another project.
struct CUnit {
  std::string function;    ///< its name
  std::string header_text; ///< the prototype, for a .h file
  std::string text;        ///< the whole .c file, header not needed
};

/// A kernel (before the passes) as one C function:
///
///   void gemm(int64_t M, int64_t N, int64_t K, const float *restrict A, ..., float *restrict C)
///
/// Parameters first, then the arguments in buffer order, row-major. Parallel and vector loops carry
/// OpenMP pragmas that compilers without OpenMP never see. Workspaces are local: arrays when small
/// and of constant size, else allocated (abort when there is no memory). Compiles without warnings
/// under -std=c11 -Wall -Wextra; link with -lm.
CUnit c_from_kernel(const kernel::Kernel&, const COptions& = {});

} // namespace kawara::emit
